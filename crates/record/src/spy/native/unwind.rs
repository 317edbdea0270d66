//! Walks a copied stack, frame by frame, with `framehop`. Processors that it does not know have no native frames.

use std::ops::Range;

use super::super::system::Registers;
use super::image::Image;

/// Why a walk ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// Here begins the thread, or no table says how to go on.
    Here,
    /// What comes next was not copied.
    NotCopied,
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    use std::sync::Arc;

    #[cfg(target_arch = "aarch64")]
    use framehop::aarch64::{CacheAarch64 as Cache, UnwindRegsAarch64 as Regs, UnwinderAarch64 as Unwinder};
    #[cfg(target_arch = "x86_64")]
    use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64 as Regs, UnwinderX86_64 as Unwinder};
    use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};

    use super::*;

    /// The tables of a process, and what was worked out from them.
    #[derive(Default)]
    pub(in super::super) struct UnwindTables {
        unwinder: Unwinder<Arc<[u8]>>,
        cache: Cache,
    }

    pub(in super::super) struct Walk {
        address: FrameAddress,
        registers: Regs,
    }

    impl Walk {
        /// Where to look the function up: inside of the call, and not after it.
        pub(in super::super) fn lookup_address(&self) -> u64 {
            self.address.address_for_lookup()
        }

        /// The end of the stack in this frame.
        pub(in super::super) fn stack(&self) -> u64 {
            self.registers.sp()
        }
    }

    impl UnwindTables {
        pub(in super::super) fn add(&mut self, name: &str, range: Range<u64>, moved: u64, image: &Image) {
            let at =
                |name: &str| image.elf.section(name).map(|s| s.address..s.address.saturating_add(s.length));
            let info = ExplicitModuleSectionInfo {
                text_svma: at(".text"),
                got_svma: at(".got"),
                eh_frame_svma: at(".eh_frame"),
                eh_frame: image.shared(".eh_frame"),
                eh_frame_hdr_svma: at(".eh_frame_hdr"),
                eh_frame_hdr: image.shared(".eh_frame_hdr"),
                debug_frame: image.shared(".debug_frame"),
                ..ExplicitModuleSectionInfo::default()
            };
            self.unwinder.add_module(Module::new(name.to_owned(), range, moved, info));
        }

        pub(in super::super) fn begin(&self, at: &Registers) -> Walk {
            #[cfg(target_arch = "x86_64")]
            let registers = Regs::new(at.instruction, at.stack, at.frame);
            #[cfg(target_arch = "aarch64")]
            let registers = Regs::new(at.link, at.stack, at.frame);
            Walk { address: FrameAddress::from_instruction_pointer(at.instruction), registers }
        }

        /// Goes to the caller.
        pub(in super::super) fn step(
            &mut self,
            walk: &mut Walk,
            start: u64,
            stack: &[u8],
        ) -> Result<(), WalkEnd> {
            let before = walk.registers.sp();
            let mut missing = false;
            let mut read = |at: u64| {
                let offset = at.checked_sub(start).and_then(|offset| usize::try_from(offset).ok()).ok_or(())?;
                let bytes = stack.get(offset..offset.checked_add(8).ok_or(())?);
                missing |= bytes.is_none();
                bytes.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes).ok_or(())
            };
            match self.unwinder.unwind_frame(walk.address, &mut walk.registers, &mut self.cache, &mut read) {
                Ok(Some(address)) => {
                    walk.address = FrameAddress::from_return_address(address).ok_or(WalkEnd::Here)?;
                    // A caller's part of the stack is further up; whatever says otherwise is not a caller.
                    if walk.registers.sp() < before { Err(WalkEnd::Here) } else { Ok(()) }
                }
                Err(Error::CouldNotReadStack(_)) if missing => Err(WalkEnd::NotCopied),
                Ok(None) | Err(_) => Err(WalkEnd::Here),
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod machine {
    use super::*;

    /// Nothing is known.
    #[derive(Default)]
    pub(in super::super) struct UnwindTables;

    /// Ends at once.
    pub(in super::super) struct Walk(Registers);

    impl Walk {
        pub(in super::super) fn lookup_address(&self) -> u64 {
            self.0.instruction
        }

        pub(in super::super) fn stack(&self) -> u64 {
            self.0.stack
        }
    }

    impl UnwindTables {
        pub(in super::super) fn add(&mut self, _: &str, _: Range<u64>, _: u64, _: &Image) {}

        pub(in super::super) fn begin(&self, at: &Registers) -> Walk {
            Walk(*at)
        }

        pub(in super::super) fn step(&mut self, _: &mut Walk, _: u64, _: &[u8]) -> Result<(), WalkEnd> {
            Err(WalkEnd::Here)
        }
    }
}

pub(super) use machine::UnwindTables;
