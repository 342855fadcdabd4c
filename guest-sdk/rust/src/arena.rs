//! Memory of one op: long values that rows are given while they are written, keys, what the host's states answered.
//!
//! What it hands out stays where it is until `reset`, whatever is asked for in between, and is used again afterwards: with
//! its first chunks there it allocates nothing.

use std::cell::{Cell, UnsafeCell};

/// Words of the first chunk.
const CHUNK_WORDS: usize = 1 << 11;

/// See the module.
pub struct Arena {
    chunks: UnsafeCell<Vec<Vec<u64>>>,
    /// The chunk in use, and how many of its words are.
    chunk: Cell<usize>,
    used: Cell<usize>,
    /// Whether the op at hand has something to settle when it ends: that the arena was used, or what others say here, so
    /// that all other ops have but one thing to look at.
    pub(crate) unsettled: Cell<bool>,
}

impl Arena {
    pub(crate) const fn new() -> Arena {
        Arena { chunks: UnsafeCell::new(Vec::new()), chunk: Cell::new(0), used: Cell::new(0), unsettled: Cell::new(false) }
    }

    /// Forgets all that was handed out. Nobody may look at it any more.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.chunk.set(0);
        self.used.set(0);
        self.unsettled.set(false);
    }

    /// Words that are whatever was there before.
    #[inline(never)]
    pub(crate) fn words(&self, count: usize) -> *mut u64 {
        self.unsettled.set(true);
        // SAFETY: no reference into `chunks` outlives this method, and a chunk's content does not move with the list.
        let chunks = unsafe { &mut *self.chunks.get() };
        while self.chunk.get() < chunks.len() {
            let chunk = &mut chunks[self.chunk.get()];
            let at = self.used.get();
            if at + count <= chunk.len() {
                self.used.set(at + count);
                return chunk[at..].as_mut_ptr();
            }
            self.chunk.set(self.chunk.get() + 1);
            self.used.set(0);
        }
        let larger = (CHUNK_WORDS << chunks.len().min(8)).max(count);
        chunks.push(vec![0; larger]);
        self.used.set(count);
        chunks[self.chunk.get()].as_mut_ptr()
    }

    /// Words that are zero.
    #[inline]
    pub(crate) fn zeroed(&self, count: usize) -> *mut u64 {
        let at = self.words(count);
        // SAFETY: `words` handed out as many.
        unsafe { at.write_bytes(0, count) };
        at
    }

    /// A copy of bytes behind their count, which is a word.
    #[inline(never)]
    pub(crate) fn keep(&self, bytes: &[u8]) -> *mut u64 {
        let at = self.words(1 + (bytes.len() + 7) / 8);
        // SAFETY: as above; what is handed out is nobody else's.
        unsafe {
            at.write(bytes.len() as u64);
            copy_bytes(at.add(1).cast(), bytes);
        }
        at
    }
}

/// Copies bytes: 8 to 64 of them by words, the last of which overlaps the one before, since to call what copies any number
/// costs more than that.
///
/// # Safety
/// There is room for them, and it is not theirs.
#[inline]
pub(crate) unsafe fn copy_bytes(to: *mut u8, bytes: &[u8]) {
    let (from, length) = (bytes.as_ptr(), bytes.len());
    if length < 8 || length > 64 {
        to.copy_from_nonoverlapping(from, length);
        return;
    }
    let word = |at: usize| to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned());
    let mut at = 0;
    while at + 8 < length {
        word(at);
        at += 8;
    }
    word(length - 8);
}
