//! States: declared by `states!`, reached by their handles through an op's context.

use crate::schema::{copied, rows, Field, Layout, Rows, Schema};
use std::marker::PhantomData;

/// What the manifest says of a state.
pub struct State {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) key: &'static [Field],
    pub(crate) value: &'static [Field],
    pub(crate) layout: Layout,
    pub(crate) ttl: &'static str,
    pub(crate) scope: &'static str,
    pub(crate) ttl_update: &'static str,
    pub(crate) ttl_visibility: &'static str,
    pub(crate) in_slot: bool,
}

impl State {
    /// How long it lives by processing time, as a duration of the job file.
    pub const fn ttl(mut self, ttl: &'static str) -> State {
        self.ttl = ttl;
        self
    }

    /// Whose it is: "key", "window" or "broadcast".
    pub const fn scope(mut self, scope: &'static str) -> State {
        self.scope = scope;
        self
    }

    /// What begins its life anew: "write", or "read" too.
    pub const fn ttl_update(mut self, update: &'static str) -> State {
        self.ttl_update = update;
        self
    }

    /// Whether it is seen when its life is over: "never", or "once".
    pub const fn ttl_visibility(mut self, visibility: &'static str) -> State {
        self.ttl_visibility = visibility;
        self
    }

    /// Whether the host wants to know that it was read.
    pub(crate) const fn tells_reads(&self) -> bool {
        !self.ttl_update.is_empty() || !self.ttl_visibility.is_empty()
    }
}

/// How many slots states of these before one take.
#[doc(hidden)]
pub const fn slots_before(states: &[State], index: usize) -> u32 {
    let (mut slots, mut i) = (0, 0);
    while i < index {
        slots += states[i].in_slot as u32;
        i += 1;
    }
    slots
}

/// The kinds of state.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident < $($parameter:ident),* >, $kind:literal, $in_slot:literal, $key:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name<$($parameter),*> {
            /// Its slot among the function's, and its index in the manifest. (Kinds of state need one of them or the other.)
            #[allow(dead_code)]
            pub(crate) slot: u32,
            #[allow(dead_code)]
            pub(crate) index: u32,
            #[allow(dead_code)]
            pub(crate) tells_reads: bool,
            of: PhantomData<fn() -> ($($parameter,)*)>,
        }

        copied! { $name<$($parameter),*> }

        impl<$($parameter: Schema),*> $name<$($parameter),*> {
            #[doc(hidden)]
            pub const fn at(states: &[State], index: usize) -> Self {
                let tells_reads = states[index].tells_reads();
                $name { slot: slots_before(states, index), index: index as u32, tells_reads, of: PhantomData }
            }

            #[doc(hidden)]
            pub const fn state(name: &'static str) -> State {
                State {
                    name, kind: $kind, key: $key, value: V::COLUMNS, layout: V::LAYOUT,
                    ttl: "", scope: "", ttl_update: "", ttl_visibility: "", in_slot: $in_slot,
                }
            }
        }
    )*};
}

handles! {
    /// A row, or nothing.
    Value<V>, "value", true, &[];
    /// A row that the function combines others into. To the host it is a value.
    Reducing<V>, "reducing", true, &[];
    /// A row that the function adds others to. To the host it is a value.
    Aggregating<V>, "aggregating", true, &[];
    /// Rows in the order in which they were added.
    List<V>, "list", false, &[];
    /// Rows by key.
    Map<K, V>, "map", false, K::COLUMNS;
}

/// A state that is a slot: a row, or nothing.
pub trait Slot<V>: Copy {
    /// Its slot among the function's.
    #[doc(hidden)]
    fn slot(self) -> u32;
    /// Whether the host wants to know that it was read.
    #[doc(hidden)]
    fn tells_reads(self) -> bool;
}

macro_rules! slots {
    ($($name:ident)*) => {$(
        impl<V> Slot<V> for $name<V> {
            #[inline(always)]
            fn slot(self) -> u32 {
                self.slot
            }
            #[inline(always)]
            fn tells_reads(self) -> bool {
                self.tells_reads
            }
        }
    )*};
}

slots! { Value Reducing Aggregating }

/// Declares the states of a function. Each is a constant handle; `ALL` is for [`Function::STATES`](crate::Function::STATES).
///
/// ```
/// wasmstream::schema! {
///     pub struct Seen { at: Timestamp }
///     pub struct Id { id: String }
/// }
/// wasmstream::states! {
///     struct States {
///         last: Value<Seen>,
///         seen: Map<Id, Seen> { ttl: "7d", ttl_update: "read" },
///     }
/// }
/// ```
#[macro_export]
macro_rules! states {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])* $state:ident : $kind:ident < $($schema:ty),+ > $({ $($option:ident : $value:literal),* $(,)? })?),* $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $name {}

        const _: () = {
            #[allow(non_camel_case_types)]
            #[repr(usize)]
            enum Position { $($state,)* }

            #[allow(non_upper_case_globals, dead_code)]
            impl $name {
                $($(#[doc = $doc])* pub const $state: $crate::state::$kind<$($schema),+> =
                    $crate::state::$kind::at($name::ALL, Position::$state as usize);)*
                /// All of them, for the manifest.
                pub const ALL: &'static [$crate::State] = &[
                    $($crate::state::$kind::<$($schema),+>::state(stringify!($state))$($(.$option($value))*)?),*
                ];
            }
        };
    };
}

/// What the manifest says of an output beside the main one.
pub struct NamedOutput {
    pub(crate) name: &'static str,
    pub(crate) rows: Rows,
}

/// An output beside the main one.
pub struct Output<S> {
    pub(crate) index: u32,
    of: PhantomData<fn() -> S>,
}

copied! { Output<S> }

impl<S: Schema> Output<S> {
    #[doc(hidden)]
    pub const fn at(position: usize) -> Self {
        Output { index: position as u32 + 1, of: PhantomData }
    }

    #[doc(hidden)]
    pub const fn named(name: &'static str) -> NamedOutput {
        NamedOutput { name, rows: rows::<S>() }
    }
}

/// Declares outputs beside the main one: `outputs! { struct Outputs { late: Late } }`. Each is a constant handle; `ALL` is
/// for [`Function::OUTPUTS`](crate::Function::OUTPUTS).
#[macro_export]
macro_rules! outputs {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])* $output:ident : $schema:ty $(as $other:literal)?),* $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $name {}

        const _: () = {
            #[allow(non_camel_case_types)]
            #[repr(usize)]
            enum Position { $($output,)* }

            #[allow(non_upper_case_globals, dead_code)]
            impl $name {
                $($(#[doc = $doc])* pub const $output: $crate::Output<$schema> = $crate::Output::at(Position::$output as usize);)*
                /// All of them, for the manifest.
                pub const ALL: &'static [$crate::NamedOutput] = &[
                    $($crate::Output::<$schema>::named($crate::name_of!($output $(, $other)?))),*
                ];
            }
        };
    };
}
