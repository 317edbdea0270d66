//! `stepscope production`: services in production, from the directory that they write to.

mod export;
mod flame;
mod report;
mod top;

use std::io::Write;

use crate::args::Production;
use crate::failure::Failure;

pub(super) fn run(args: &Production, out: &mut dyn Write) -> Result<(), Failure> {
    match args {
        Production::Export(args) => export::run(args, out),
        Production::Flame(args) => flame::run(args, out),
        Production::Report(args) => report::run(args, out),
        Production::Top(args) => top::run(args, out),
    }
}
