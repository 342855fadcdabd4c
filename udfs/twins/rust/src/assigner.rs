//! Tumbling and sliding windows, and sessions.

use crate::Number;
use wasmstream::*;

schema! {
    pub struct Sizes {
        size: BigInt,
        offset: BigInt = 0,
    }
    pub struct Slides {
        size: BigInt,
        slide: BigInt,
        offset: BigInt = 0,
    }
    pub struct Gaps {
        gap: BigInt = 0,
        gap_field: String = "",
    }
}

/// The last window start up to a time.
fn start_of(time: i64, offset: i64, size: i64) -> i64 {
    let behind = time.wrapping_sub(offset).wrapping_rem(size);
    time.wrapping_sub(if behind < 0 { behind + size } else { behind })
}

/// The context's time: of event time only records with one have windows.
fn time_of(moment: &Moment, processing: bool) -> i64 {
    match processing {
        true => moment.clock(),
        false => moment.time().unwrap_or_else(|| fail("the record has no timestamp")),
    }
}

fn tumble(sizes: (i64, i64), time: i64, windows: &mut Windows) {
    let (size, offset) = sizes;
    let start = start_of(time, offset, size);
    windows.assign(start, start.wrapping_add(size));
}

fn slide(slides: (i64, i64, i64), time: i64, windows: &mut Windows) {
    let (size, slide, offset) = slides;
    let mut start = start_of(time, offset, slide);
    while start > time.wrapping_sub(size) {
        windows.assign(start, start.wrapping_add(size));
        start = start.wrapping_sub(slide);
    }
}

/// Assigners of windows of a fixed size.
macro_rules! of_size {
    ($($name:ident, $parameters:ident, $processing:literal, $assign:ident($($parameter:ident),*);)*) => {$(
        pub struct $name {
            $($parameter: i64,)*
        }

        impl Function for $name {
            type Parameters = $parameters;

            fn open(open: &Open<$parameters>) -> $name {
                $name { $($parameter: open.parameters().value($parameters::$parameter),)* }
            }
        }

        impl Assigner for $name {
            type Input = Any;
            const PROCESSING_TIME: bool = $processing;

            fn assign(&self, _: Row<Any>, moment: &Moment, windows: &mut Windows) {
                $assign(($(self.$parameter),*), time_of(moment, $processing), windows);
            }
        }
    )*};
}

of_size! {
    Tumbling, Sizes, false, tumble(size, offset);
    TumblingProcessing, Sizes, true, tumble(size, offset);
    Sliding, Slides, false, slide(size, slide, offset);
    SlidingProcessing, Slides, true, slide(size, slide, offset);
}

/// Assigners of sessions.
macro_rules! of_gap {
    ($($name:ident, $processing:literal;)*) => {$(
        pub struct $name {
            gap: i64,
            field: Option<Number>,
        }

        impl Function for $name {
            type Parameters = Gaps;

            fn open(open: &Open<Gaps>) -> $name {
                let field = Number::find(open.input(), open.parameters().value(Gaps::gap_field));
                $name { gap: open.parameters().value(Gaps::gap), field }
            }
        }

        impl Assigner for $name {
            type Input = Any;
            const MERGES: bool = true;
            const PROCESSING_TIME: bool = $processing;

            fn assign(&self, record: Row<Any>, moment: &Moment, windows: &mut Windows) {
                let time = if $processing { moment.clock() } else { moment.time().unwrap_or(i64::MIN) };
                let gap = self.field.map_or(self.gap, |field| field.whole(record).unwrap_or(0));
                if gap <= 0 {
                    fail("the gap of a session must be more than 0");
                }
                windows.assign(time, time.wrapping_add(gap));
            }
        }
    )*};
}

of_gap! {
    Session, false;
    SessionProcessing, true;
}
