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

/// Says what is wrong where a row is being written. It is the function's mistake, which ends the call as any panic does.
#[cold]
fn busy() -> ! {
    panic!("a row is being written: nothing else can be done until that is over")
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

    /// Adds words, and answers where they begin; None where the limit is passed, and from then on. The caller writes all of
    /// them before anything else is done here: they are whatever was there before.
    #[inline(always)]
    fn grow(&self, count: usize) -> Option<*mut u64> {
        if self.open.get() {
            busy();
        }
        // SAFETY: the only reference, since no method keeps one while a function's code runs.
        let words = unsafe { &mut *self.words.get() };
        let at = words.len();
        if at + count > words.capacity().min(WORDS_MAX) && !self.reserve(words, count) || self.too_large.get() {
            self.too_large.set(true);
            return None;
        }
        // SAFETY: the capacity is as large, and the caller writes the words.
        unsafe {
            words.set_len(at + count);
            Some(words.as_mut_ptr().add(at))
        }
    }

    /// Adds an effect with a payload of words.
    #[inline]
    pub(crate) fn push<const N: usize>(&self, kind: u32, op: u32, aux: u32, payload: [u64; N]) {
        if let Some(at) = self.grow(HEADER_WORDS + N) {
            // SAFETY: as many words were added; so it is below.
            unsafe {
                at.cast::<[u64; HEADER_WORDS]>().write(header(kind, op, N * 8, aux));
                at.add(HEADER_WORDS).cast::<[u64; N]>().write(payload);
            }
        }
    }

    /// Adds an effect with a payload of bytes.
    #[inline(never)]
    pub(crate) fn push_bytes(&self, kind: u32, op: u32, aux: u32, payload: &[u8]) {
        let count = HEADER_WORDS + (payload.len() + 7) / 8;
        if let Some(at) = self.grow(count) {
            unsafe {
                at.add(count - 1).write(0); // the padding
                at.cast::<[u64; HEADER_WORDS]>().write(header(kind, op, payload.len(), aux));
                at.add(HEADER_WORDS).cast::<u8>().copy_from_nonoverlapping(payload.as_ptr(), payload.len());
            }
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
        let at = match self.grow(HEADER_WORDS + layout.words) {
            None => return,
            Some(at) => at,
        };
        self.open.set(true);
        // SAFETY: the words were added for it, and while it is open nothing moves them.
        unsafe {
            at.cast::<[u64; HEADER_WORDS]>().write(header(kind, op, layout.words * 8, aux));
            let base = at.add(HEADER_WORDS);
            base.write_bytes(0, layout.words);
            fill(&mut RowMut::at(base.cast(), arena, layout));
        }
        self.open.set(false);
        if layout.any_variable {
            self.add_long_values(layout);
        }
    }

    /// Puts the long values of the row that was added last behind it.
    #[inline(never)]
    fn add_long_values(&self, layout: Layout) {
        // SAFETY: the row is the last there is, and no reference into the words outlives a line.
        unsafe {
            let at = (*self.words.get()).len() - layout.words;
            let row = || (*self.words.get()).as_mut_ptr().add(at).cast::<u8>();
            let long = long_words(row(), layout);
            if self.grow(long).is_some() {
                *row().cast::<u64>().sub(1) += long as u64 * 8; // the effect's length
                place_long_values(row(), row(), layout);
            }
        }
    }

    /// Adds a row as it is.
    #[inline(never)]
    pub(crate) fn push_copy<S: Schema>(&self, kind: u32, op: u32, aux: u32, layout: Layout, row: Row<S>) {
        // SAFETY: it is a row of the layout.
        let words = layout.words + unsafe { long_words(row.base(), layout) };
        if let Some(at) = self.grow(HEADER_WORDS + words) {
            unsafe {
                at.cast::<[u64; HEADER_WORDS]>().write(header(kind, op, words * 8, aux));
                let to = at.add(HEADER_WORDS).cast::<u8>();
                to.copy_from_nonoverlapping(row.base(), layout.words * 8);
                *to = 0; // the kind of change
                place_long_values(to, row.base(), layout);
            }
        }
    }
}
