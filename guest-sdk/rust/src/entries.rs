//! List and map states: entries that the host keeps.

use crate::host;
use crate::op::Op;
use crate::row::{build, Row, RowMut};
use crate::schema::Schema;
use std::marker::PhantomData;

/// Bytes that a scan asks for at once, to begin with.
const SCAN_BYTES: usize = 4096;

unsafe fn bytes<'a>(at: (*const u8, usize)) -> &'a [u8] {
    std::slice::from_raw_parts(at.0, at.1)
}

/// A key or value in its final form.
fn row_bytes<'a, S: Schema>(op: Op<'a>, fill: impl FnOnce(&mut RowMut<S>)) -> &'a [u8] {
    // SAFETY: what the arena handed out is there until the op ends.
    unsafe { bytes(build(&op.call.arena, S::LAYOUT, fill)) }
}

/// Room in the arena.
#[allow(clippy::mut_from_ref)]
fn room(op: Op<'_>, size: usize) -> &mut [u8] {
    let words = (size + 7) / 8;
    // SAFETY: as above; the words are nobody else's, and every byte is something.
    unsafe { std::slice::from_raw_parts_mut(op.call.arena.words(words).cast(), words * 8) }
}

/// A map state of the op's key. Rows that it answers are good until the function returns, whatever is put meanwhile.
pub struct Entries<'a, K, V> {
    op: Op<'a>,
    state: u32,
    of: PhantomData<fn() -> (K, V)>,
}

impl<'a, K: Schema, V: Schema> Entries<'a, K, V> {
    pub(crate) fn new(op: Op<'a>, state: u32) -> Self {
        Entries { op, state, of: PhantomData }
    }

    /// The entry's value.
    pub fn get(&self, key: impl FnOnce(&mut RowMut<K>)) -> Option<Row<'a, V>> {
        let key = row_bytes(self.op, key);
        let mut into = room(self.op, if V::LAYOUT.any_variable { 256 } else { V::LAYOUT.words * 8 });
        loop {
            let length = host::state_get(self.op.index, self.state, key, into);
            if length < 0 {
                return None;
            }
            if length as usize <= into.len() {
                // SAFETY: the host wrote a row of the state's schema.
                return Some(unsafe { Row::at(into.as_ptr()) });
            }
            into = room(self.op, length as usize);
        }
    }

    /// Sets the entry.
    pub fn put(&self, key: impl FnOnce(&mut RowMut<K>), value: impl FnOnce(&mut RowMut<V>)) {
        host::state_put(self.op.index, self.state, row_bytes(self.op, key), row_bytes(self.op, value));
    }

    /// Deletes the entry, if it is there.
    pub fn delete(&self, key: impl FnOnce(&mut RowMut<K>)) {
        host::state_delete(self.op.index, self.state, row_bytes(self.op, key));
    }

    /// Deletes all entries.
    pub fn clear(&self) {
        host::state_delete(self.op.index, self.state, &[]);
    }

    /// All entries, in the order of their keys' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (Row<'a, K>, Row<'a, V>)> {
        // SAFETY: the host writes rows of the state's schemas.
        Scan::new(self.op, self.state).map(|(key, value)| unsafe { (Row::at(key.as_ptr()), Row::at(value.as_ptr())) })
    }
}

/// A list state of the op's key.
pub struct Items<'a, V> {
    op: Op<'a>,
    state: u32,
    of: PhantomData<fn() -> V>,
}

impl<'a, V: Schema> Items<'a, V> {
    pub(crate) fn new(op: Op<'a>, state: u32) -> Self {
        Items { op, state, of: PhantomData }
    }

    /// Appends an element.
    pub fn push(&self, value: impl FnOnce(&mut RowMut<V>)) {
        host::state_put(self.op.index, self.state, &[], row_bytes(self.op, value));
    }

    /// Appends all elements to another list.
    pub(crate) fn append_to(&self, state: u32) {
        Scan::new(self.op, self.state).for_each(|(_, value)| host::state_put(self.op.index, state, &[], value));
    }

    /// Deletes all elements.
    pub fn clear(&self) {
        host::state_delete(self.op.index, self.state, &[]);
    }

    /// All elements, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Row<'a, V>> {
        // SAFETY: the host writes rows of the state's schema.
        Scan::new(self.op, self.state).map(|(_, value)| unsafe { Row::at(value.as_ptr()) })
    }
}

/// Goes over a state's entries, a buffer full at a time. Each buffer is in the arena: rows of it may be kept.
struct Scan<'a> {
    op: Op<'a>,
    state: u32,
    rest: &'a [u8],
    last: &'a [u8],
    size: usize,
    ended: bool,
}

impl<'a> Scan<'a> {
    fn new(op: Op<'a>, state: u32) -> Self {
        Scan { op, state, rest: &[], last: &[], size: SCAN_BYTES, ended: false }
    }

    fn fetch(&mut self) {
        let into = room(self.op, self.size);
        match host::state_scan(self.op.index, self.state, self.last, into) {
            0 => self.ended = true,
            need if need < 0 => self.size = need.unsigned_abs() as usize,
            length => self.rest = &into[..length as usize],
        }
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.is_empty() && !self.ended {
            self.fetch();
        }
        if self.ended {
            return None;
        }
        let number =
            |at: usize| u32::from_le_bytes([self.rest[at], self.rest[at + 1], self.rest[at + 2], self.rest[at + 3]]) as usize;
        let (key_length, value_length) = (number(0), number(4));
        let value_at = 8 + (key_length + 7) / 8 * 8;
        let (key, value) = (&self.rest[8..8 + key_length], &self.rest[value_at..value_at + value_length]);
        self.last = key;
        self.rest = &self.rest[value_at + (value_length + 7) / 8 * 8..];
        Some((key, value))
    }
}
