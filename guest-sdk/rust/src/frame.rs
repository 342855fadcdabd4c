//! Frames: what one call carries. The host is trusted: offsets are within the frame, as abi/README.md says.

use crate::raw;

/// A frame's header, read once.
#[derive(Clone, Copy)]
pub struct Frame {
    pub(crate) base: *mut u8,
    /// Where the contexts end.
    pub(crate) contexts_end: u32,
    pub(crate) ops: u32,
    ops_at: *const raw::Op,
    slots_at: *mut u8,
    pub(crate) slots_count: u32,
    stride: u32,
}

impl Frame {
    /// Reads a header.
    ///
    /// # Safety
    /// A frame of that length must be there, 8-aligned, and be the guest's while the result is used.
    pub(crate) unsafe fn open(base: *mut u8, length: u32) -> Result<Frame, &'static str> {
        if (length as usize) < std::mem::size_of::<raw::Header>() {
            return Err("wasmstream: a frame shorter than its header");
        }
        let h = &*base.cast::<raw::Header>();
        if h.version != raw::VERSION || h.total_length != length {
            return Err("wasmstream: a frame of another version or length");
        }
        Ok(Frame {
            base,
            contexts_end: h.contexts_offset + h.contexts_length,
            ops: h.ops_count,
            ops_at: base.add(h.ops_offset as usize).cast(),
            slots_at: base.add(h.slots_offset as usize),
            slots_count: h.slots_count,
            stride: h.slot_stride,
        })
    }

    /// The op of an index below `ops`.
    #[inline(always)]
    pub(crate) fn op(&self, index: u32) -> &raw::Op {
        // SAFETY: the host is trusted, and so is our loop.
        unsafe { &*self.ops_at.add(index as usize) }
    }

    /// Whether slots are edited in place.
    #[inline(always)]
    pub(crate) fn fixed_slots(&self) -> bool {
        self.stride != 0
    }

    /// A slot of fixed width.
    #[inline(always)]
    pub(crate) fn slot(&self, index: u32) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.slots_at.add((index * self.stride) as usize) }
    }

    /// The row of a slot of variable width.
    pub(crate) fn slot_entry(&self, index: u32) -> &[u64] {
        // SAFETY: as above.
        unsafe {
            let entry = self.slots_at.cast::<[u32; 2]>().add(index as usize).read();
            std::slice::from_raw_parts(self.base.add(entry[0] as usize).cast(), entry[1] as usize / 8)
        }
    }

    /// What is at an offset.
    #[inline(always)]
    pub(crate) fn at(&self, offset: u32) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.base.add(offset as usize) }
    }
}
