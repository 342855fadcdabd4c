//! Functions: a trait for each role.

use crate::context::*;
use crate::describe::Facts;
use crate::host::fail;
use crate::op::{context_field, Op};
use crate::open::Open;
use crate::raw;
use crate::row::{Row, RowMut};
use crate::schema::Schema;
use crate::state::{NamedOutput, State};

crate::schema! {
    /// A message of a source or sink.
    pub struct Message {
        value: Bytes,
        key: Bytes,
    }

    /// What a function that enriches asks for.
    pub struct Request {
        method: String,
        url: String,
        /// Lines `name: value`.
        headers: String,
        body: Bytes,
    }

    /// The answer to a request.
    pub struct Answer {
        /// Null without an answer: `error` then says why.
        status: Int,
        /// Lines `name: value`.
        headers: String,
        body: Bytes,
        error: String,
    }
}

/// What all functions have, whatever their role. A value of it is an opened function: what it keeps are its parameters and
/// what follows from them. It can be thrown away and opened anew between any two calls, so what must last is in states.
pub trait Function: Sized + 'static {
    /// What `with:` in the job may set; `()` for nothing.
    type Parameters: Schema;
    /// A line for people.
    const DOC: &'static str = "";
    /// Outputs beside the main one: `Outputs::ALL` of [`outputs!`](crate::outputs).
    const OUTPUTS: &'static [NamedOutput] = &[];
    /// States: `States::ALL` of [`states!`](crate::states).
    const STATES: &'static [State] = &[];

    /// Opens the function, before all else.
    fn open(open: &Open<Self::Parameters>) -> Self;
}

/// Declares a function that has no parameters, with its line for people, states and outputs.
///
/// ```
/// # wasmstream::schema! { pub struct Seen { n: BigInt } }
/// # wasmstream::states! { struct States { last: Value<Seen> } }
/// wasmstream::function! {
///     /// what the manifest says of it
///     pub struct Plain;
///
///     /// and one with states
///     pub struct Stateful: states(States);
/// }
/// ```
#[macro_export]
macro_rules! function {
    ($($(#[doc = $doc:literal])* $vis:vis struct $name:ident $(: $($what:ident($list:ty)),+)?;)*) => {$(
        $(#[doc = $doc])*
        $vis struct $name;

        impl $crate::Function for $name {
            type Parameters = ();
            const DOC: &'static str = concat!($($doc),*);
            $($($crate::function_list!($what, $list);)+)?

            fn open(_: &$crate::Open<()>) -> $name {
                $name
            }
        }
    )*};
}

/// The constants of a function.
#[doc(hidden)]
#[macro_export]
macro_rules! function_list {
    (states, $list:ty) => {
        const STATES: &'static [$crate::State] = <$list>::ALL;
    };
    (outputs, $list:ty) => {
        const OUTPUTS: &'static [$crate::NamedOutput] = <$list>::ALL;
    };
}

/// One row from one.
pub trait Map: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// Fills `out`, which begins as zeros without nulls.
    fn map(&self, record: Row<Self::Input>, moment: &Moment, out: &mut RowMut<Self::Output>);
}

/// Keeps a record or drops it.
pub trait Filter: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// Whether the record is kept.
    fn keep(&self, record: Row<Self::Input>, moment: &Moment) -> bool;
}

/// Any number of rows from one.
pub trait FlatMap: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// Emits rows.
    fn flat_map(&self, record: Row<Self::Input>, moment: &Moment, out: &Emitter<Self::Output>);
}

/// The key of a record.
pub trait Key: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The key's columns.
    type Output: Schema;
    /// Fills `key`, which begins as zeros without nulls.
    fn key(&self, record: Row<Self::Input>, moment: &Moment, key: &mut RowMut<Self::Output>);
}

/// The event time of a record, and watermarks.
pub trait Timestamp: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The record's event time, in milliseconds since 1970.
    fn timestamp(&self, record: Row<Self::Input>, moment: &Moment) -> i64;
    /// A watermark behind the record, if there is one.
    fn watermark(&self, _record: Row<Self::Input>, _timestamp: i64) -> Option<i64> {
        None
    }
}

/// An accumulator for each key and window, and its result.
pub trait Aggregate: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The accumulator's columns.
    type Accumulator: Schema;
    /// The result's columns.
    type Output: Schema;
    /// Makes a new accumulator of a row of zeros without nulls.
    fn create(&self, _acc: &mut RowMut<Self::Accumulator>) {}
    /// Adds a record.
    fn add(&self, acc: &mut RowMut<Self::Accumulator>, record: Row<Self::Input>);
    /// Adds another accumulator, which is gone afterwards.
    fn merge(&self, acc: &mut RowMut<Self::Accumulator>, other: Row<Self::Accumulator>);
    /// Fills the result, a row of zeros without nulls.
    fn result(&self, acc: Row<Self::Accumulator>, out: &mut RowMut<Self::Output>);
}

/// Rows combined into one of the input's own schema.
pub trait Reduce: Function {
    /// The rows that it takes, and makes.
    type Input: Schema;
    /// Combines `acc`, at first a record, with a record.
    fn reduce(&self, acc: &mut RowMut<Self::Input>, record: Row<Self::Input>);
}

/// A window function.
pub trait Apply: Function {
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// The window's elements; behind an aggregate, its result.
    type Input: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// The window fires.
    fn apply(&self, window: &mut Group<Self::Key, Self::Input, Self::Output>);
    /// The window is over; its own states go by themselves.
    fn clear(&self, _window: &mut Window<Self::Key>) {}
}

/// Assigns records to windows.
pub trait Assigner: Function {
    /// The rows that it takes; `()` if it does not read the record.
    type Input: Schema;
    /// Whether its windows merge where they overlap or touch.
    const MERGES: bool = false;
    /// Whether its windows are of processing time.
    const PROCESSING_TIME: bool = false;
    /// Assigns the record to windows.
    fn assign(&self, record: Row<Self::Input>, moment: &Moment, windows: &mut Windows);
}

/// Decides when windows fire and purge.
pub trait Trigger: Function {
    /// The rows that it takes; `()` if it does not read the record.
    type Input: Schema;
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// Whether windows that merge may have it: it then has `on_merge`.
    const MERGES: bool = false;
    /// A record came into the window.
    fn on_element(&self, record: Row<Self::Input>, window: &mut Window<Self::Key>) -> Decision;
    /// An event timer of the window is due, whoever set it: `window.time()`. A trigger that sets such timers has it.
    fn on_event_time(&self, _window: &mut Window<Self::Key>) -> Decision {
        Decision::Continue
    }
    /// A processing timer of the window is due, whoever set it: `window.time()`. A trigger that sets such timers has it.
    fn on_processing_time(&self, _window: &mut Window<Self::Key>) -> Decision {
        Decision::Continue
    }
    /// Windows were merged into this one, whose states are new: it takes in theirs, `window.merged_state`.
    fn on_merge(&self, _window: &mut Window<Self::Key>) {}
    /// The window is over: it deletes its timers. Its states go by themselves.
    fn clear(&self, _window: &mut Window<Self::Key>) {}
}

/// Takes elements out of windows.
pub trait Evictor: Function {
    /// The rows that it takes; `()` if it does not read them.
    type Input: Schema;
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// Evicts, before the window's function or after it.
    fn evict(&self, window: &mut Eviction<Self::Key, Self::Input>);
}

/// A function of keyed records, with states and timers.
pub trait Process: Function {
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// The rows that it takes.
    type Input: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// A record.
    fn on_record(&self, record: Row<Self::Input>, context: &mut Keyed<Self::Key, Self::Output>);
    /// A timer is due: `context.time()`. A function that sets timers has it: without it, a timer that is due is a fault.
    fn on_timer(&self, _domain: Domain, context: &mut Keyed<Self::Key, Self::Output>) {
        context.op.lacks_on_timer()
    }
}

/// A function of keyed records of two inputs, with states and timers.
pub trait CoProcess: Function {
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// The rows of the first input.
    type Input: Schema;
    /// The rows of the second input.
    type Second: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// A record of the first input.
    fn on_record(&self, record: Row<Self::Input>, context: &mut Keyed<Self::Key, Self::Output>);
    /// A record of the second input.
    fn on_second(&self, record: Row<Self::Second>, context: &mut Keyed<Self::Key, Self::Output>);
    /// A timer is due: `context.time()`. A function that sets timers has it: without it, a timer that is due is a fault.
    fn on_timer(&self, _domain: Domain, context: &mut Keyed<Self::Key, Self::Output>) {
        context.op.lacks_on_timer()
    }
}

/// A function of keyed records, and of records that all tasks get.
pub trait BroadcastProcess: Function {
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// The rows of the keyed input.
    type Input: Schema;
    /// The rows of the broadcast input.
    type Second: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// A record of the keyed input.
    fn on_record(&self, record: Row<Self::Input>, context: &mut Keyed<Self::Key, Self::Output>);
    /// A record of the broadcast input: only here may broadcast state be changed, and by nothing but these records.
    fn on_broadcast(&self, record: Row<Self::Second>, context: &mut Broadcast<Self::Output>);
    /// A timer is due: `context.time()`. A function that sets timers has it: without it, a timer that is due is a fault.
    fn on_timer(&self, _domain: Domain, context: &mut Keyed<Self::Key, Self::Output>) {
        context.op.lacks_on_timer()
    }
    /// A key that has state, because `on_broadcast` asked to visit keys; the record is that call's.
    fn on_key(&self, _record: Row<Self::Second>, _key: &mut Visited<Self::Key>) {}
}

/// The rows of a pair.
pub trait Join: Function {
    /// The rows of the left side.
    type Input: Schema;
    /// The rows of the right side.
    type Second: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// Emits rows of a pair; in an outer join a side may be missing.
    fn join(&self, left: Option<Row<Self::Input>>, right: Option<Row<Self::Second>>, pair: &Pair<Self::Output>);
}

/// The rows of a window with elements of two inputs.
pub trait CoGroup: Function {
    /// The key's columns; `()` if it does not read the key.
    type Key: Schema;
    /// The rows of the left side.
    type Input: Schema;
    /// The rows of the right side.
    type Second: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// Emits rows of both sides.
    fn co_group(&self, sides: &mut Sides<Self::Key, Self::Input, Self::Second, Self::Output>);
}

/// Builds a request for a record, and digests its answer; the host asks.
pub trait Enrich: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// The rows that it makes.
    type Output: Schema;
    /// Asks, or emits without asking.
    fn on_record(&self, record: Row<Self::Input>, out: &Enrichment<Self::Output>);
    /// The answer to the record's request.
    fn on_answer(&self, record: Row<Self::Input>, answer: Row<Answer>, out: &Emitter<Self::Output>);
}

/// A source's format.
pub trait Decode: Function {
    /// The rows that it makes.
    type Output: Schema;
    /// Emits the message's rows.
    fn decode(&self, message: Row<Message>, moment: &Moment, out: &Emitter<Self::Output>);
}

/// A sink's format.
pub trait Encode: Function {
    /// The rows that it takes.
    type Input: Schema;
    /// Fills the message, which begins as an empty value and an empty key.
    fn encode(&self, record: Row<Self::Input>, moment: &Moment, message: &mut RowMut<Message>);
}

/// How ops reach a function of a role: the types of `roles` implement it for the functions of that role.
pub trait Role<F: Function> {
    /// What there is to know of the function.
    #[doc(hidden)]
    const FACTS: Facts;
    /// Performs an op.
    #[doc(hidden)]
    fn perform(f: &F, op: Op);
}

fn unknown(role: &str) -> ! {
    fail(&["wasmstream: an op of a kind that the role ", role, " does not know"].concat())
}

fn domain(op: &Op) -> Domain {
    match context_field!(op, detail) {
        0 => Domain::Event,
        _ => Domain::Processing,
    }
}

/// The roles, as `module!` names them.
pub mod roles {
    use super::*;

    /// Declares a role: what there is to know of its functions, and which kind of op is which method.
    macro_rules! role {
        ($role:ident, $name:literal, $facts:expr, |$f:ident, $op:ident| { $($kind:path => $perform:expr),* $(,)? }) => {
            #[doc = concat!("The role of a [`", stringify!($role), "`](super::", stringify!($role), ").")]
            pub enum $role {}

            impl<F: super::$role> Role<F> for $role {
                const FACTS: Facts = $facts;
                #[inline(always)]
                fn perform($f: &F, $op: Op) {
                    match $op.kind() {
                        $($kind => $perform,)*
                        _ => unknown($name),
                    }
                }
            }
        };
    }

    role! { Map, "map", Facts::of::<F>("map").input::<F::Input>().output::<F::Output>(),
        |f, op| { raw::OP_ON_RECORD => op.emit(0, |out| f.map(op.row(), &Moment::new(op), out)) }
    }

    role! { Filter, "filter", Facts::of::<F>("filter").input::<F::Input>(),
        |f, op| { raw::OP_ON_RECORD => if f.keep(op.row(), &Moment::new(op)) { op.effect(raw::EFFECT_KEEP, 0, []) } }
    }

    role! { FlatMap, "flat-map", Facts::of::<F>("flat-map").input::<F::Input>().output::<F::Output>(),
        |f, op| { raw::OP_ON_RECORD => f.flat_map(op.row(), &Moment::new(op), &Emitter::new(op)) }
    }

    role! { Key, "key", Facts::of::<F>("key").input::<F::Input>().output::<F::Output>(),
        |f, op| { raw::OP_ON_RECORD => op.emit(0, |out| f.key(op.row(), &Moment::new(op), out)) }
    }

    role! { Timestamp, "timestamp", Facts::of::<F>("timestamp").input::<F::Input>(),
        |f, op| { raw::OP_ON_RECORD => {
            let time = f.timestamp(op.row(), &Moment::new(op));
            if let Some(watermark) = f.watermark(op.row(), time) {
                op.effect(raw::EFFECT_WATERMARK, 0, [watermark as u64]);
            }
            op.effect(raw::EFFECT_EVENT_TIME, 0, [time as u64]);
        } }
    }

    role! { Aggregate, "aggregate",
        Facts::of::<F>("aggregate").input::<F::Input>().accumulator::<F::Accumulator>().output::<F::Output>(),
        |f, op| {
            raw::OP_ADD => f.add(&mut op.edit_accumulator(), op.row()),
            raw::OP_CREATE => f.create(&mut op.edit_accumulator()),
            raw::OP_RESULT => op.emit(0, |out| f.result(op.read_accumulator(op.op.slot), out)),
            raw::OP_MERGE => f.merge(&mut op.edit_accumulator(), op.read_accumulator(op.op.arg)),
        }
    }

    role! { Reduce, "reduce", Facts::of::<F>("reduce").input::<F::Input>().slot_is_input(),
        |f, op| { raw::OP_REDUCE => f.reduce(&mut op.edit_slot(op.op.slot, op.shape.slots[0]), op.row()) }
    }

    role! { Apply, "apply", Facts::of::<F>("apply").key::<F::Key>().input::<F::Input>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_WINDOW => f.apply(&mut Group::new(op)),
            raw::OP_CLEAR => f.clear(&mut Window::new(op)),
        }
    }

    role! { Assigner, "assigner",
        Facts::of::<F>("assigner").input::<F::Input>().merges(F::MERGES).processing_time(F::PROCESSING_TIME),
        |f, op| { raw::OP_ASSIGN => f.assign(op.row(), &Moment::new(op), &mut Windows::new(op)) }
    }

    fn decide(op: Op, decision: Decision) {
        if decision != Decision::Continue {
            op.effect(raw::EFFECT_DECIDE, decision as u32, []);
        }
    }

    role! { Trigger, "trigger",
        Facts::of::<F>("trigger").input::<F::Input>().key::<F::Key>().scope("window").merges(F::MERGES),
        |f, op| {
            raw::OP_ON_ELEMENT => decide(op, f.on_element(op.row(), &mut Window::new(op))),
            raw::OP_ON_EVENT_TIME => decide(op, f.on_event_time(&mut Window::new(op))),
            raw::OP_ON_PROCESSING_TIME => decide(op, f.on_processing_time(&mut Window::new(op))),
            raw::OP_ON_MERGE => f.on_merge(&mut Window::new(op)),
            raw::OP_CLEAR => f.clear(&mut Window::new(op)),
        }
    }

    role! { Evictor, "evictor", Facts::of::<F>("evictor").input::<F::Input>().key::<F::Key>(),
        |f, op| { raw::OP_EVICT => f.evict(&mut Eviction::new(op)) }
    }

    role! { Process, "process", Facts::of::<F>("process").key::<F::Key>().input::<F::Input>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_RECORD => f.on_record(op.row(), &mut Keyed::new(op)),
            raw::OP_ON_TIMER => f.on_timer(domain(&op), &mut Keyed::new(op)),
        }
    }

    role! { CoProcess, "co-process",
        Facts::of::<F>("co-process").key::<F::Key>().input::<F::Input>().second::<F::Second>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_RECORD => f.on_record(op.row(), &mut Keyed::new(op)),
            raw::OP_ON_SECOND => f.on_second(op.row(), &mut Keyed::new(op)),
            raw::OP_ON_TIMER => f.on_timer(domain(&op), &mut Keyed::new(op)),
        }
    }

    role! { BroadcastProcess, "broadcast-process",
        Facts::of::<F>("broadcast-process").key::<F::Key>().input::<F::Input>().second::<F::Second>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_RECORD => f.on_record(op.row(), &mut Keyed::new(op)),
            raw::OP_ON_BROADCAST => f.on_broadcast(op.row(), &mut Broadcast::new(op)),
            raw::OP_ON_TIMER => f.on_timer(domain(&op), &mut Keyed::new(op)),
            raw::OP_ON_KEY => f.on_key(op.row(), &mut Visited::new(op)),
        }
    }

    role! { Join, "join", Facts::of::<F>("join").input::<F::Input>().second::<F::Second>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_PAIR => f.join(op.optional_row(op.op.row), op.optional_row(context_field!(op, second)), &Pair::new(op)),
        }
    }

    role! { CoGroup, "co-group",
        Facts::of::<F>("co-group").key::<F::Key>().input::<F::Input>().second::<F::Second>().output::<F::Output>(),
        |f, op| { raw::OP_ON_GROUP => f.co_group(&mut Sides::new(op)) }
    }

    role! { Enrich, "enrich", Facts::of::<F>("enrich").input::<F::Input>().output::<F::Output>(),
        |f, op| {
            raw::OP_ON_RECORD => f.on_record(op.row(), &Enrichment::new(op)),
            raw::OP_ON_ANSWER => f.on_answer(op.row(), op.row_at(context_field!(op, second)), &Emitter::new(op)),
        }
    }

    role! { Decode, "decode", Facts::of::<F>("decode").output::<F::Output>(),
        |f, op| { raw::OP_DECODE => f.decode(op.row(), &Moment::new(op), &Emitter::new(op)) }
    }

    role! { Encode, "encode", Facts::of::<F>("encode").input::<F::Input>(),
        |f, op| { raw::OP_ENCODE => op.emit(0, |out| f.encode(op.row(), &Moment::new(op), out)) }
    }
}
