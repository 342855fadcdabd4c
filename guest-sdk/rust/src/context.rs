//! What functions are told beside their rows, and what they can do.

use crate::entries::{Entries, Items};
use crate::op::{context_field, Op};
use crate::raw;
use crate::row::{Row, RowMut};
use crate::schema::Schema;
use crate::state::{List, Map, Output, Slot};
use std::marker::PhantomData;

/// A trigger's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Decision {
    /// Nothing is done.
    Continue = 0,
    /// The window's result goes out.
    Fire = 1,
    /// The window's content is dropped.
    Purge = 2,
    /// Both.
    FireAndPurge = 3,
}

/// Which clock a timer goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Domain {
    /// Event time: the watermark.
    Event = 0,
    /// Processing time.
    Processing = 1,
}

/// Declares a context.
macro_rules! context {
    ($(#[$doc:meta])* $name:ident < $($parameter:ident),* >) => {
        $(#[$doc])*
        pub struct $name<'a, $($parameter),*> {
            pub(crate) op: Op<'a>,
            of: PhantomData<fn() -> ($($parameter,)*)>,
        }

        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            #[inline(always)]
            pub(crate) fn new(op: Op<'a>) -> Self {
                $name { op, of: PhantomData }
            }
        }
    };
}

/// Gives a context times.
macro_rules! times {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            /// The record's event time in milliseconds since 1970, None if it has none; of a timer, its time.
            #[inline(always)]
            pub fn time(&self) -> Option<i64> {
                match context_field!(self.op, time) {
                    i64::MIN => None,
                    time => Some(time),
                }
            }

            /// The watermark, the least i64 before the first.
            #[inline(always)]
            pub fn watermark(&self) -> i64 {
                context_field!(self.op, watermark)
            }

            /// The processing time.
            #[inline(always)]
            pub fn clock(&self) -> i64 {
                context_field!(self.op, clock)
            }
        }
    )*};
}

/// Gives a context a key.
macro_rules! keys {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            /// The key.
            #[inline(always)]
            pub fn key(&self) -> Row<'a, K> {
                self.op.row_at(context_field!(self.op, key))
            }
        }
    )*};
}

/// Gives a context a window.
macro_rules! windows {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            /// The window's first millisecond; of the global window the least i64.
            pub fn start(&self) -> i64 {
                context_field!(self.op, start)
            }

            /// The millisecond behind the window's last; of the global window the least i64.
            pub fn end(&self) -> i64 {
                context_field!(self.op, end)
            }

            /// The window's last millisecond; of the global window the greatest i64.
            pub fn last(&self) -> i64 {
                self.end().wrapping_sub(1)
            }
        }
    )*};
}

/// Lets a context emit.
macro_rules! emits {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> where O: Schema {
            /// Emits a row to the main output; it begins as zeros without nulls.
            #[inline(always)]
            pub fn emit(&self, fill: impl FnOnce(&mut RowMut<O>)) {
                self.op.emit(0, fill);
            }

            /// Emits a row to the main output as it is.
            pub fn emit_row(&self, row: Row<O>) {
                self.op.emit_row(0, row);
            }

            /// Emits a row to a named output.
            #[inline]
            pub fn emit_to<S: Schema>(&self, output: Output<S>, fill: impl FnOnce(&mut RowMut<S>)) {
                self.op.emit(output.index, fill);
            }

            /// Emits a row to a named output as it is.
            pub fn emit_row_to<S: Schema>(&self, output: Output<S>, row: Row<S>) {
                self.op.emit_row(output.index, row);
            }
        }
    )*};
}

/// Lets a context set timers.
macro_rules! timers {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            /// Sets a timer; the same time twice is one timer.
            #[inline(always)]
            pub fn set_timer(&self, domain: Domain, time: i64) {
                self.op.effect(raw::EFFECT_SET_TIMER, domain as u32, [time as u64]);
            }

            /// Deletes a timer, if it is set.
            #[inline(always)]
            pub fn delete_timer(&self, domain: Domain, time: i64) {
                self.op.effect(raw::EFFECT_DELETE_TIMER, domain as u32, [time as u64]);
            }
        }
    )*};
}

/// Lets a context reach states.
macro_rules! states {
    ($($name:ident < $($parameter:ident),* >)*) => {$(
        impl<'a, $($parameter),*> $name<'a, $($parameter),*> {
            /// The state's row, None if it holds nothing.
            #[inline(always)]
            pub fn get<V: Schema>(&self, state: impl Slot<V>) -> Option<Row<'_, V>> {
                self.op.read_state(state)
            }

            /// The state's row for writing; if it held nothing, a row of zeros.
            #[inline(always)]
            pub fn edit<V: Schema>(&mut self, state: impl Slot<V>) -> RowMut<'_, V> {
                self.op.edit_state(state)
            }

            /// Has the state hold nothing.
            pub fn clear<V: Schema>(&mut self, state: impl Slot<V>) {
                self.op.clear_slot::<V>(self.op.op.slot + self.op.slot_of(state));
            }

            /// A list state.
            pub fn list<V: Schema>(&self, state: List<V>) -> Items<'_, V> {
                Items::new(self.op, self.op.entries_of(state.index, "list"))
            }

            /// A map state.
            pub fn map<M: Schema, V: Schema>(&self, state: Map<M, V>) -> Entries<'_, M, V> {
                Entries::new(self.op, self.op.entries_of(state.index, "map"))
            }
        }
    )*};
}

context! {
    /// When: what functions of single records are told.
    Moment<>
}

context! {
    /// A pair of a join: of a window join, its window; and what is emitted.
    Pair<O>
}

context! {
    /// Takes the rows that a function emits.
    Emitter<O>
}

context! {
    /// A key: its states and timers, and what is emitted.
    Keyed<K, O>
}

context! {
    /// A key that `on_broadcast` had visited: its states.
    Visited<K>
}

context! {
    /// A broadcast record: the states that are the same in all tasks, and what is emitted.
    Broadcast<O>
}

context! {
    /// A window of a key, as triggers see it: its states and timers.
    Window<K>
}

context! {
    /// A window of a key that is over, or fires: its states, its content, and what is emitted.
    Group<K, I, O>
}

context! {
    /// The two sides of a window of a key.
    Sides<K, I, J, O>
}

context! {
    /// A window whose elements may leave it.
    Eviction<K, I>
}

context! {
    /// The windows of a record.
    Windows<>
}

context! {
    /// What to ask for a record, or what to emit without asking.
    Enrichment<O>
}

times! { Moment<> Pair<O> Keyed<K, O> Visited<K> Broadcast<O> Window<K> Group<K, I, O> Sides<K, I, J, O> Eviction<K, I> Enrichment<O> }
keys! { Keyed<K, O> Visited<K> Window<K> Group<K, I, O> Sides<K, I, J, O> Eviction<K, I> }
windows! { Pair<O> Window<K> Group<K, I, O> Sides<K, I, J, O> Eviction<K, I> }
emits! { Emitter<O> Pair<O> Keyed<K, O> Broadcast<O> Group<K, I, O> Sides<K, I, J, O> Enrichment<O> }
timers! { Keyed<K, O> Window<K> }
states! { Keyed<K, O> Visited<K> Broadcast<O> Window<K> Group<K, I, O> }

impl<O> Broadcast<'_, O> {
    /// Has `on_key` performed for each key that has state, before anything else.
    pub fn visit_keys(&self) {
        self.op.effect(raw::EFFECT_VISIT_KEYS, 0, []);
    }
}

impl<K> Window<'_, K> {
    /// Of `on_merge`: how many windows were merged into this one.
    pub fn merged(&self) -> u32 {
        context_field!(self.op, count)
    }

    /// Of `on_merge`: a state of one of the merged windows.
    pub fn merged_state<V: Schema>(&self, window: u32, state: impl Slot<V>) -> Option<Row<'_, V>> {
        if window >= self.merged() {
            self.op.lacks("merged window", window, self.merged() as usize);
        }
        let list = self.op.frame.at(context_field!(self.op, list)).cast::<u32>();
        // SAFETY: the list has as many slots; see also read_slot. Nothing edits the slots of merged windows.
        let slot = unsafe { list.add(window as usize).read() };
        self.op.read_slot(slot + self.op.slot_of(state))
    }

    /// Of `on_merge`: a list of one of the merged windows, which can only be read.
    pub fn merged_list<V: Schema>(&self, window: u32, state: List<V>) -> Items<'_, V> {
        Items::new(self.op, self.merged_index(window, state.index))
    }

    /// Of `on_merge`: a map of one of the merged windows, which can only be read.
    pub fn merged_map<M: Schema, V: Schema>(&self, window: u32, state: Map<M, V>) -> Entries<'_, M, V> {
        Entries::new(self.op, self.merged_index(window, state.index))
    }

    /// Of `on_merge`: appends the lists of all merged windows.
    pub fn merge_list<V: Schema>(&self, state: List<V>) {
        for window in 0..self.merged() {
            self.merged_list(window, state).append_to(state.index);
        }
    }

    /// What the host knows a state of a merged window by.
    fn merged_index(&self, window: u32, index: u32) -> u32 {
        assert!(window < self.merged(), "there is no such merged window");
        index | (window + 1) << 16
    }
}

impl Windows<'_> {
    /// Assigns the record to the window from `start` to before `end`.
    #[inline]
    pub fn assign(&mut self, start: i64, end: i64) {
        self.op.effect(raw::EFFECT_ASSIGN, 0, [start as u64, end as u64]);
    }
}

impl<K, I> Eviction<'_, K, I> {
    /// Whether the window's function was already called.
    pub fn is_after(&self) -> bool {
        context_field!(self.op, detail) != 0
    }

    /// Has the element of that index leave the window; indices must rise.
    pub fn evict(&mut self, index: usize) {
        let count = context_field!(self.op, count) as usize;
        if index >= count {
            self.op.lacks("element", index as u32, count);
        }
        self.op.effect(raw::EFFECT_EVICT, index as u32, []);
    }
}

impl<O> Enrichment<'_, O> {
    /// Asks, at most once; the answer comes to `on_answer`.
    pub fn request(&self, fill: impl FnOnce(&mut RowMut<crate::Request>)) {
        let layout = crate::Request::LAYOUT;
        self.op.call.effects.push_row(raw::EFFECT_REQUEST, self.op.index, 0, &self.op.call.arena, layout, fill);
    }
}

/// An element of a window.
pub struct Element<'a, I> {
    /// Its event time, None if it has none.
    pub time: Option<i64>,
    /// Its row.
    pub row: Row<'a, I>,
}

fn elements<'a>(op: Op<'a>) -> impl DoubleEndedIterator<Item = raw::Element> + ExactSizeIterator + 'a {
    let list = op.frame.at(context_field!(op, list)).cast::<raw::Element>();
    // SAFETY: the list has as many elements; the host is trusted.
    (0..context_field!(op, count) as usize).map(move |i| unsafe { *list.add(i) })
}

fn element<'a, I>(op: Op<'a>, e: raw::Element) -> Element<'a, I> {
    let time = if e.time == i64::MIN { None } else { Some(e.time) };
    Element { time, row: op.row_at(e.row) }
}

impl<'a, K: 'a, I: 'a> Eviction<'a, K, I> {
    /// The window's elements, in order of arrival.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = Element<'a, I>> + ExactSizeIterator + 'a {
        let op = self.op;
        elements(op).map(move |e| element(op, e))
    }
}

impl<'a, K: 'a, I: 'a, O: 'a> Group<'a, K, I, O> {
    /// The result of the aggregate before it, None without one.
    pub fn result(&self) -> Option<Row<'a, I>> {
        self.op.optional_row(self.op.op.row)
    }

    /// The window's elements, in order of arrival; none behind an aggregate.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = Element<'a, I>> + ExactSizeIterator + 'a {
        let op = self.op;
        elements(op).map(move |e| element(op, e))
    }
}

impl<'a, K: 'a, I: 'a, J: 'a, O: 'a> Sides<'a, K, I, J, O> {
    /// The elements of the first side, in order of arrival.
    pub fn left(&self) -> impl DoubleEndedIterator<Item = Element<'a, I>> + 'a {
        let op = self.op;
        elements(op).filter(|e| e.input == 0).map(move |e| element(op, e))
    }

    /// The elements of the second side, in order of arrival.
    pub fn right(&self) -> impl DoubleEndedIterator<Item = Element<'a, J>> + 'a {
        let op = self.op;
        elements(op).filter(|e| e.input == 1).map(move |e| element(op, e))
    }
}
