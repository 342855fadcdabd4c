//! Memory of one op: long values that rows are given while they are written, keys, what the host's states answered.
//!
//! What it hands out stays where it is until `reset`, whatever is asked for in between, and is used again afterwards: with
//! its first chunks there it allocates nothing.

use crate::types::INLINE;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

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
    open: OpenRow,
}

/// The row that is being written at the end of the effects. Long values that are set in the order of its columns go right
/// behind it, where they stay.
struct OpenRow {
    /// Null: there is none.
    row: Cell<*mut u8>,
    /// Where the next long value goes, and where the room for them ends.
    next: Cell<*mut u8>,
    end: Cell<*mut u8>,
    /// The field of the last one.
    last: Cell<u32>,
    /// Whether a value went elsewhere, or may have been replaced.
    mixed: Cell<bool>,
}

impl Arena {
    pub(crate) const fn new() -> Arena {
        let (row, next, end) = (Cell::new(null_mut()), Cell::new(null_mut()), Cell::new(null_mut()));
        let open = OpenRow { row, next, end, last: Cell::new(0), mixed: Cell::new(false) };
        Arena { chunks: UnsafeCell::new(Vec::new()), chunk: Cell::new(0), used: Cell::new(0), unsettled: Cell::new(false), open }
    }

    /// Forgets all that was handed out. Nobody may look at it any more.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.chunk.set(0);
        self.used.set(0);
        self.unsettled.set(false);
        self.open.row.set(null_mut());
    }

    /// Begins a row at the end of the effects, behind which there is room up to an end.
    #[inline(always)]
    pub(crate) fn open_row(&self, row: *mut u8, next: *mut u8, end: *mut u8) {
        self.open.row.set(row);
        self.open.next.set(next);
        self.open.end.set(end);
        self.open.last.set(0);
        self.open.mixed.set(false);
    }

    /// Ends it, and answers where its long values end; None if they are not all where they have to be.
    #[inline(always)]
    pub(crate) fn close_row(&self) -> Option<*mut u8> {
        self.open.row.set(null_mut());
        match self.open.mixed.get() {
            true => None,
            false => Some(self.open.next.get()),
        }
    }

    /// Puts a long value for a field behind the row that is being written, if it is that row and the value comes in turn;
    /// answers the field.
    #[inline]
    pub(crate) fn append(&self, row: *const u8, field: u32, value: &[u8]) -> Option<u64> {
        let (next, padded) = (self.open.next.get(), (value.len() + 7) / 8 * 8);
        let room = self.open.end.get() as usize - next as usize;
        if self.open.row.get() as *const u8 != row || field <= self.open.last.get() || padded > room {
            return None;
        }
        // SAFETY: there is room.
        unsafe {
            next.add(padded - 8).cast::<u64>().write(0); // the padding
            copy_bytes(next, value);
            self.open.next.set(next.add(padded));
            self.open.last.set(field);
            Some(((next as usize - row as usize) as u64) << 32 | value.len() as u64)
        }
    }

    /// Notes that a field of a row is to be replaced.
    #[inline(always)]
    pub(crate) fn replaced(&self, row: *const u8, field: u64) {
        if field != 0 && field & INLINE == 0 && self.open.row.get() as *const u8 == row {
            self.open.mixed.set(true);
        }
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
        self.open.mixed.set(true);
        let at = self.words(1 + (bytes.len() + 7) / 8);
        // SAFETY: as above; what is handed out is nobody else's.
        unsafe {
            at.write(bytes.len() as u64);
            copy_bytes(at.add(1).cast(), bytes);
        }
        at
    }
}

/// Copies bytes: 8 to 64 of them by words from both ends, which meet or overlap in the middle, since to call what copies any
/// number costs more than that. There is no loop: the compiler would make that call of it.
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
    word(0);
    word(length - 8);
    if length > 16 {
        word(8);
        word(length - 16);
    }
    if length > 32 {
        word(16);
        word(24);
        word(length - 24);
        word(length - 32);
    }
}
