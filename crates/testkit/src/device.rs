//! The device's side of the file: kernels, copies, memsets, and named ranges.

use std::io::{self, Write};

use crate::calls::Activity;
use crate::event::{CallEvent, DeviceSide, SPAN_NAMES, Span};
use crate::writer::Writer;

const PROCESSORS: u64 = 132;

impl<W: Write> Writer<W> {
    /// The twin of a named range on the device's first stream.
    pub(crate) fn device_span(&mut self, which: usize, span: &Span) -> io::Result<()> {
        let (start, end) = span.device.unwrap_or((span.start, span.end));
        self.complete("gpu_user_annotation").raw(SPAN_NAMES[which]);
        self.place(0, 7, start, end - start).raw("\"External id\": ").num(span.external);
        self.close_args()
    }

    /// A kernel, copy or fill, with the head of its arrow.
    pub(crate) fn device(&mut self, call: &CallEvent, side: &DeviceSide) -> io::Result<()> {
        let work = side.work;
        self.complete(match work.activity {
            Activity::Kernel => "kernel",
            Activity::Memcpy => "gpu_memcpy",
            Activity::Memset => "gpu_memset",
        });
        self.text.raw(work.name);
        let text = self.place(0, side.stream, side.start, side.dur);
        text.raw("\"External id\": ").num(call.external).raw(",      ");
        text.raw(if work.activity == Activity::Kernel { "\"queued\": 0, " } else { "" });
        text.raw("\"device\": 0, \"context\": 1,      \"stream\": ").num(side.stream);
        text.raw(", \"correlation\": ").num(call.correlation);
        if work.activity == Activity::Kernel {
            let blocks: u64 = work.grid.iter().product();
            let warps = blocks * work.block.iter().product::<u64>().div_ceil(32);
            text.raw(",      \"registers per thread\": ").num(work.registers);
            text.raw(",      \"shared memory\": ").num(work.shared);
            text.raw(",      \"blocks per SM\": ").fixed(blocks * 1_000_000 / PROCESSORS, 6);
            text.raw(",      \"warps per SM\": ").fixed(warps * 1_000_000 / PROCESSORS, 6);
            for (name, [x, y, z]) in [("grid", work.grid), ("block", work.block)] {
                text.raw(",      \"").raw(name).raw("\": [").num(x).raw(", ").num(y);
                text.raw(", ").num(z).raw("]");
            }
            let occupancy = (warps * 100 / PROCESSORS / 64).min(100);
            text.raw(",      \"est. achieved occupancy %\": ").num(occupancy);
        } else {
            let rate = side.bytes as f64 / side.dur.max(1) as f64;
            text.raw(",      \"bytes\": ").num(side.bytes);
            text.raw(", \"memory bandwidth (GB/s)\": ").raw(&rate.to_string());
        }
        self.close_args()?;
        self.arrow('f', "ac2g", call.correlation, 0, side.stream, side.start)?;

        self.summary.extend(side.start, side.dur);
        let stream = self.summary.streams.entry(side.stream).or_default();
        stream.count += 1;
        stream.ns += side.dur;
        match work.activity {
            Activity::Kernel => {
                self.summary.kernels += 1;
                self.summary.kernel_ns += side.dur;
                let kernel = self.summary.kernels_by_name.entry(work.name).or_default();
                kernel.count += 1;
                kernel.ns += side.dur;
            }
            Activity::Memcpy => self.summary.copied_bytes += side.bytes,
            Activity::Memset => {}
        }
        Ok(())
    }
}
