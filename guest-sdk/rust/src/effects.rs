//! What the ops of a call want done, as the host reads it.

use crate::arena::Arena;
use crate::raw;
use crate::row::{long_words, place_long_values, Row, RowMut};
use crate::schema::{Layout, Schema};
use std::cell::{Cell, UnsafeCell};

const HEADER_WORDS: usize = 2;
const WORDS_MAX: usize = raw::EFFECTS_BYTES_MAX / 8;

/// The two words that an effect begins with.
#[inline(always)]
fn header(kind: u32, op: u32, length: usize, aux: u32) -> [u64; HEADER_WORDS] {
    [kind as u64 | (op as u64) << 32, length as u64 | (aux as u64) << 32]
}

/// Effects of a call, one after another. Functions have shared references only, so that they can look at states while
/// they emit; `open` keeps them from emitting a row while they write one.
pub(crate) struct Effects {
    words: UnsafeCell<Vec<u64>>,
    open: Cell<bool>,
    too_large: Cell<bool>,
}

impl Effects {
    pub(crate) const fn new() -> Effects {
        Effects { words: UnsafeCell::new(Vec::new()), open: Cell::new(false), too_large: Cell::new(false) }
    }

    /// Begins a call.
    pub(crate) fn clear(&mut self) {
        self.words.get_mut().clear();
        self.open.set(false);
        self.too_large.set(false);
    }

    /// The effects; None if they passed their limit.
    pub(crate) fn finish(&mut self) -> Option<&[u64]> {
        match self.too_large.get() {
            true => None,
            false => Some(self.words.get_mut()),
        }
    }

    #[inline(always)]
    pub(crate) fn is_too_large(&self) -> bool {
        self.too_large.get()
    }

    /// Makes room for more words; false where they pass the limit, or there is no memory for them.
    #[cold]
    fn reserve(&self, words: &mut Vec<u64>, count: usize) -> bool {
        words.len() + count <= WORDS_MAX && words.try_reserve(count.max(1 << 11)).is_ok()
    }

    /// Adds zeros, and answers where; None where the limit is passed, and from then on.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    fn grow(&self, count: usize) -> Option<(&mut [u64], usize)> {
        assert!(!self.open.get(), "a row is being written: nothing else can be done until that is over");
        // SAFETY: the only reference, since no method keeps one while a function's code runs.
        let words = unsafe { &mut *self.words.get() };
        let at = words.len();
        if at + count > words.capacity().min(WORDS_MAX) && !self.reserve(words, count) || self.too_large.get() {
            self.too_large.set(true);
            return None;
        }
        words.resize(at + count, 0);
        Some((words, at))
    }

    /// Adds an effect with a payload of words.
    #[inline]
    pub(crate) fn push<const N: usize>(&self, kind: u32, op: u32, aux: u32, payload: [u64; N]) {
        if let Some((words, at)) = self.grow(HEADER_WORDS + N) {
            words[at..at + HEADER_WORDS].copy_from_slice(&header(kind, op, N * 8, aux));
            words[at + HEADER_WORDS..].copy_from_slice(&payload);
        }
    }

    /// Adds an effect with a payload of bytes.
    #[inline(never)]
    pub(crate) fn push_bytes(&self, kind: u32, op: u32, aux: u32, payload: &[u8]) {
        if let Some((words, at)) = self.grow(HEADER_WORDS + (payload.len() + 7) / 8) {
            words[at..at + HEADER_WORDS].copy_from_slice(&header(kind, op, payload.len(), aux));
            let to = words[at + HEADER_WORDS..].as_mut_ptr().cast::<u8>();
            // SAFETY: as many words were added.
            unsafe { to.copy_from_nonoverlapping(payload.as_ptr(), payload.len()) }
        }
    }

    /// Adds an effect whose payload is a row that is written where it stays.
    #[inline]
    pub(crate) fn push_row<S: Schema>(
        &self,
        kind: u32,
        op: u32,
        aux: u32,
        arena: &Arena,
        layout: Layout,
        fill: impl FnOnce(&mut RowMut<S>),
    ) {
        let (at, base) = match self.grow(HEADER_WORDS + layout.words) {
            None => return,
            Some((words, at)) => {
                words[at..at + HEADER_WORDS].copy_from_slice(&header(kind, op, layout.words * 8, aux));
                (at, words[at + HEADER_WORDS..].as_mut_ptr().cast::<u8>())
            }
        };
        self.open.set(true);
        // SAFETY: the words were added for it, and while it is open nothing moves them.
        fill(&mut unsafe { RowMut::at(base, arena, layout) });
        self.open.set(false);
        if layout.any_variable {
            self.add_long_values(at, layout);
        }
    }

    #[inline(never)]
    fn add_long_values(&self, at: usize, layout: Layout) {
        // SAFETY: the row is at `at`, and no reference into the words outlives a line.
        unsafe {
            let row = || (&mut *self.words.get())[at + HEADER_WORDS..].as_mut_ptr().cast::<u8>();
            let long = long_words(row(), layout);
            if self.grow(long).is_some() {
                (&mut *self.words.get())[at + 1] += long as u64 * 8;
                place_long_values(row(), row(), layout);
            }
        }
    }

    /// Adds a row as it is.
    #[inline(never)]
    pub(crate) fn push_copy<S: Schema>(&self, kind: u32, op: u32, aux: u32, layout: Layout, row: Row<S>) {
        // SAFETY: it is a row of the layout.
        let words = layout.words + unsafe { long_words(row.base(), layout) };
        if let Some((list, at)) = self.grow(HEADER_WORDS + words) {
            list[at..at + HEADER_WORDS].copy_from_slice(&header(kind, op, words * 8, aux));
            let to = list[at + HEADER_WORDS..].as_mut_ptr().cast::<u8>();
            // SAFETY: as many words were added.
            unsafe {
                to.copy_from_nonoverlapping(row.base(), layout.words * 8);
                *to = 0; // the kind of change
                place_long_values(to, row.base(), layout);
            }
        }
    }
}
