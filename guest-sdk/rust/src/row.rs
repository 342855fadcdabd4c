//! Rows as views: reading and writing a field is one load or store.

use crate::arena::{copy_bytes, Arena};
use crate::schema::{Column, Layout, Schema};
use crate::types::{long_bits, view, Access, EMPTY, INLINE};
use std::marker::PhantomData;

/// A row that is read. It is good until the function that got it returns, and so are the texts in it.
#[allow(clippy::type_complexity)]
pub struct Row<'a, S> {
    base: *const u8,
    of: PhantomData<(&'a u8, fn() -> S)>,
}

impl<S> Clone for Row<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Row<'_, S> {}

impl<'a, S> Row<'a, S> {
    /// # Safety
    /// A row of the schema must be there, and stay there for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn at(base: *const u8) -> Self {
        Row { base, of: PhantomData }
    }

    /// Whether the field is null.
    #[inline(always)]
    pub fn is_null<T>(&self, column: Column<S, T>) -> bool {
        // SAFETY: a column of this schema is within the row.
        unsafe { *self.base.add(column.position as usize / 8 + 1) & 1 << (column.position % 8) != 0 }
    }

    /// The field, None if it is null.
    #[inline(always)]
    pub fn get<T: Access<'a>>(&self, column: Column<S, T>) -> Option<T::Value> {
        match self.is_null(column) {
            true => None,
            false => Some(self.value(column)),
        }
    }

    /// The field; zero, or empty, if it is null.
    #[inline(always)]
    pub fn value<T: Access<'a>>(&self, column: Column<S, T>) -> T::Value {
        // SAFETY: as in is_null.
        unsafe { T::read(self.base, column.offset) }
    }

    pub(crate) fn base(&self) -> *const u8 {
        self.base
    }
}

/// A row that is written: an accumulator, a state, or a new row of zeros without nulls, in which texts are empty.
pub struct RowMut<'a, S> {
    base: *mut u8,
    arena: &'a Arena,
    layout: Layout,
    of: PhantomData<fn() -> S>,
}

impl<'a, S: Schema> RowMut<'a, S> {
    /// # Safety
    /// A row of the schema must be there, and be nobody else's for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn at(base: *mut u8, arena: &'a Arena, layout: Layout) -> Self {
        RowMut { base, arena, layout, of: PhantomData }
    }

    /// The row as it is now, for reading.
    #[inline(always)]
    pub fn row(&self) -> Row<'_, S> {
        Row { base: self.base, of: PhantomData }
    }

    /// Whether the field is null.
    #[inline(always)]
    pub fn is_null<T>(&self, column: Column<S, T>) -> bool {
        self.row().is_null(column)
    }

    /// The field, None if it is null.
    #[inline(always)]
    pub fn get<'s, T: Access<'s>>(&'s self, column: Column<S, T>) -> Option<T::Value> {
        self.row().get(column)
    }

    /// The field; zero, or empty, if it is null.
    #[inline(always)]
    pub fn value<'s, T: Access<'s>>(&'s self, column: Column<S, T>) -> T::Value {
        self.row().value(column)
    }

    /// Sets the field.
    #[inline(always)]
    pub fn set<'v, T: Access<'v>>(&mut self, column: Column<S, T>, value: T::Value) {
        // SAFETY: a column of this schema is within the row. All 8 bytes are written, since rows are compared by them.
        unsafe {
            let bits = T::bits(value, self.arena, self.base, column.offset);
            *self.base.add(column.position as usize / 8 + 1) &= !(1 << (column.position % 8));
            *self.base.add(column.offset as usize).cast::<u64>() = bits;
        }
    }

    /// Makes the field null.
    #[inline(always)]
    pub fn set_null<T>(&mut self, column: Column<S, T>) {
        // SAFETY: as in set.
        unsafe {
            let field = self.base.add(column.offset as usize).cast::<u64>();
            if S::LAYOUT.any_variable || S::ANY {
                self.arena.replaced(self.base, *field);
            }
            *self.base.add(column.position as usize / 8 + 1) |= 1 << (column.position % 8);
            *field = 0;
        }
    }

    /// Sets the field, or makes it null.
    #[inline(always)]
    pub fn put<'v, T: Access<'v>>(&mut self, column: Column<S, T>, value: Option<T::Value>) {
        match value {
            Some(value) => self.set(column, value),
            None => self.set_null(column),
        }
    }

    /// Makes all fields those of another row.
    #[inline]
    pub fn copy(&mut self, from: Row<S>) {
        // SAFETY: both are rows of the schema, and two different ones: `from` would else be borrowed from this one.
        unsafe {
            if S::LAYOUT.any_variable || S::ANY {
                self.copy_with_texts(from);
                return;
            }
            self.base.cast::<u64>().copy_from_nonoverlapping(from.base().cast(), self.layout.words);
            *self.base = 0; // the kind of change
        }
    }

    #[inline(never)]
    unsafe fn copy_with_texts(&mut self, from: Row<S>) {
        let variable = || self.layout.variable.iter().filter(|o| **o != 0);
        for offset in variable() {
            self.arena.replaced(self.base, *self.base.add(*offset as usize).cast::<u64>());
        }
        self.base.cast::<u64>().copy_from_nonoverlapping(from.base().cast(), self.layout.words);
        *self.base = 0; // the kind of change
        for offset in variable() {
            let field = self.base.add(*offset as usize).cast::<u64>();
            if *field & INLINE == 0 && *field != 0 {
                *field = long_bits(view(from.base(), *offset), self.arena, self.base, *offset);
            }
        }
    }

    /// Makes a field that of a column, of the same type, of another row.
    pub fn copy_field<R, T>(&mut self, column: Column<S, T>, from: Row<R>, other: Column<R, T>) {
        if from.is_null(other) {
            self.set_null(column);
            return;
        }
        // SAFETY: columns of a schema are within its rows.
        unsafe {
            let mut bits = *from.base().add(other.offset as usize).cast::<u64>();
            let field = self.base.add(column.offset as usize).cast::<u64>();
            if self.layout.variable.get(column.position as usize).map_or(false, |o| *o != 0) {
                self.arena.replaced(self.base, *field);
                if bits & INLINE == 0 && bits != 0 {
                    bits = long_bits(view(from.base(), other.offset), self.arena, self.base, column.offset);
                }
            }
            *self.base.add(column.position as usize / 8 + 1) &= !(1 << (column.position % 8));
            *field = bits;
        }
    }
}

/// Bytes of the long values of a row that was written.
pub(crate) unsafe fn long_words(base: *const u8, layout: Layout) -> usize {
    let long = |offset: &u32| {
        let field = *base.add(*offset as usize).cast::<u64>();
        match field & INLINE == 0 && field != 0 && *offset != 0 {
            true => (view(base, *offset).len() + 7) / 8,
            false => 0,
        }
    };
    layout.variable.iter().map(long).sum()
}

/// Makes fields that were not set empty texts.
#[inline]
pub(crate) unsafe fn fill_empty(row: *mut u8, layout: Layout) {
    for (i, offset) in layout.variable.iter().enumerate().filter(|(_, o)| **o != 0) {
        let field = row.add(*offset as usize).cast::<u64>();
        if *field == 0 && *row.add(i / 8 + 1) & 1 << (i % 8) == 0 {
            *field = EMPTY;
        }
    }
}

/// Gives a row that was written its final form, the only one that its values have: long values behind the columns, in
/// their order, padded with zeros. `to` begins with the row's columns and has room for its long values; `from` is where
/// the row was written, for long values that are offsets. Fields that were not set are empty texts.
pub(crate) unsafe fn place_long_values(to: *mut u8, from: *const u8, layout: Layout) {
    let mut end = layout.words * 8;
    for (i, offset) in layout.variable.iter().enumerate().filter(|(_, o)| **o != 0) {
        let field = to.add(*offset as usize).cast::<u64>();
        if *field & INLINE != 0 {
            continue;
        }
        if *field == 0 {
            if *to.add(i / 8 + 1) & 1 << (i % 8) == 0 {
                *field = EMPTY;
            }
            continue;
        }
        let bytes = view(from, *offset);
        *field = (end as u64) << 32 | bytes.len() as u64;
        let padded = (bytes.len() + 7) / 8 * 8;
        to.add(end + padded - 8).cast::<u64>().write(0);
        copy_bytes(to.add(end), bytes);
        end += padded;
    }
}

/// A row built in the arena, in its final form.
#[inline]
pub(crate) fn build<S: Schema>(arena: &Arena, layout: Layout, fill: impl FnOnce(&mut RowMut<S>)) -> (*const u8, usize) {
    let base = arena.zeroed(layout.words).cast::<u8>();
    // SAFETY: the words were handed out for it.
    unsafe {
        fill(&mut RowMut::at(base, arena, layout));
        if !layout.any_variable {
            return (base, layout.words * 8);
        }
        let words = layout.words + long_words(base, layout);
        let whole = arena.words(words).cast::<u8>();
        whole.copy_from_nonoverlapping(base, layout.words * 8);
        place_long_values(whole, base, layout);
        (whole, words * 8)
    }
}
