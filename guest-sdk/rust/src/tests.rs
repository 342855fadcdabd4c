//! What the modules of udfs/ do not ask: all types, accumulators of variable width, and what goes wrong.

use crate::testing::{logged, manifest, run};
use crate::*;
use std::panic::catch_unwind;

schema! {
    pub struct All {
        b: Boolean,
        i: Int,
        l: BigInt,
        f: Float,
        d: Double,
        t: Timestamp,
        y: Date,
        s: String,
        x: Bytes,
    }
    pub struct Word {
        s: String,
    }
    pub struct Words {
        longest: String,
        joined: String,
        n: BigInt,
    }
    pub struct Number {
        n: BigInt,
    }
    pub struct Named {
        n: Decimal<18, 4> as "max-price",
    }
    pub struct Options {
        /// a "quoted" line
        scale: Double = 1.5,
        name: String = "none",
        must: Int,
    }
}

states! {
    struct KeptStates {
        seen: Value<Number> { ttl: "1h", ttl_update: "read" },
        plain: Value<Number>,
    }
}

states! {
    struct OthersStates {
        a: Value<Number>,
        b: Value<Number>,
        third: Value<Number>,
        map: Map<Number, Number>,
        list: List<Number>,
    }
}

outputs! {
    struct OthersOutputs {
        first: Number,
        second: Number,
    }
}

function! {
    /// asks for what it does not have
    pub struct Asking: states(KeptStates);
    /// evicts what is not there
    pub struct Leaving;
    /// the last row
    pub struct Last;
    /// the longest word, and all words
    pub struct Longest;
    /// emits while it emits
    pub struct Nested;
    /// emits more than there is room for
    pub struct Endless;
    /// says what it does
    pub struct Talking;
    /// reads its states
    pub struct Kept: states(KeptStates);
    /// a price
    pub struct Priced;
}

impl Process for Asking {
    type Key = ();
    type Input = Number;
    type Output = Number;

    fn on_record(&self, record: Row<Number>, context: &mut Keyed<(), Number>) {
        match record.value(Number::n) {
            0 => context.emit_to(OthersOutputs::second, |_| {}),
            1 => drop(context.get(OthersStates::third)),
            2 => drop(context.edit(OthersStates::third)),
            3 => context.map(OthersStates::map).clear(),
            4 => context.list(OthersStates::list).clear(),
            _ => context.set_timer(Domain::Event, 5),
        }
    }
}

impl Evictor for Leaving {
    type Input = ();
    type Key = ();

    fn evict(&self, window: &mut Eviction<(), ()>) {
        window.evict(2);
    }
}

impl Aggregate for Last {
    type Input = All;
    type Accumulator = All;
    type Output = All;

    fn add(&self, acc: &mut RowMut<All>, record: Row<All>) {
        acc.copy(record);
    }

    fn merge(&self, acc: &mut RowMut<All>, other: Row<All>) {
        acc.put(All::b, other.get(All::b));
        acc.put(All::i, other.get(All::i));
        acc.put(All::l, other.get(All::l));
        acc.put(All::f, other.get(All::f));
        acc.put(All::d, other.get(All::d));
        acc.put(All::t, other.get(All::t));
        acc.put(All::y, other.get(All::y));
        acc.put(All::x, other.get(All::x)); // not in the order of columns
        acc.put(All::s, other.get(All::s));
    }

    fn result(&self, acc: Row<All>, out: &mut RowMut<All>) {
        out.copy(acc);
    }
}

impl Longest {
    fn include(acc: &mut RowMut<Words>, longest: &str, joined: &str, n: i64) {
        if longest.len() > acc.value(Words::longest).len() {
            acc.set(Words::longest, longest);
        }
        let all = match acc.value(Words::joined) {
            "" => joined.to_string(),
            before => [before, ",", joined].concat(),
        };
        acc.set(Words::joined, &all);
        acc.set(Words::n, acc.value(Words::n) + n);
    }
}

impl Aggregate for Longest {
    type Input = Word;
    type Accumulator = Words;
    type Output = Words;

    fn add(&self, acc: &mut RowMut<Words>, record: Row<Word>) {
        Longest::include(acc, record.value(Word::s), record.value(Word::s), 1);
    }

    fn merge(&self, acc: &mut RowMut<Words>, other: Row<Words>) {
        Longest::include(acc, other.value(Words::longest), other.value(Words::joined), other.value(Words::n));
    }

    fn result(&self, acc: Row<Words>, out: &mut RowMut<Words>) {
        out.set(Words::joined, "a first value, which is replaced");
        out.set(Words::joined, acc.value(Words::joined));
        out.set(Words::longest, acc.value(Words::longest));
        out.set(Words::n, acc.value(Words::n));
    }
}

impl FlatMap for Nested {
    type Input = Number;
    type Output = Number;

    fn flat_map(&self, _: Row<Number>, _: &Moment, out: &Emitter<Number>) {
        out.emit(|_| out.emit(|_| {}));
    }
}

impl FlatMap for Endless {
    type Input = Number;
    type Output = Word;

    fn flat_map(&self, _: Row<Number>, _: &Moment, out: &Emitter<Word>) {
        let text = "x".repeat(1 << 20);
        for _ in 0..20 {
            out.emit(|row| row.set(Word::s, &text));
        }
    }
}

impl Filter for Talking {
    type Input = Number;

    fn keep(&self, record: Row<Number>, _: &Moment) -> bool {
        log(Level::Warn, "a number came");
        if record.is_null(Number::n) {
            fail("there is no number");
        }
        let list = [1, 2, 3];
        list[record.value(Number::n) as usize] > 0
    }
}

impl Process for Kept {
    type Key = ();
    type Input = Number;
    type Output = Number;

    fn on_record(&self, _: Row<Number>, context: &mut Keyed<(), Number>) {
        context.emit(|out| {
            let seen = context.get(KeptStates::seen).map_or(0, |seen| seen.value(Number::n));
            let plain = context.get(KeptStates::plain).map_or(0, |plain| plain.value(Number::n));
            out.set(Number::n, seen + plain);
        });
        context.edit(KeptStates::plain).set(Number::n, 7);
    }
}

pub struct Opened;

impl Function for Opened {
    type Parameters = Options;

    fn open(open: &Open<Options>) -> Opened {
        let parameters = open.parameters();
        log(Level::Info, &format!("{} {}", parameters.value(Options::scale), parameters.value(Options::name)));
        Opened
    }
}

impl Filter for Opened {
    type Input = Number;

    fn keep(&self, _: Row<Number>, _: &Moment) -> bool {
        true
    }
}

impl Map for Priced {
    type Input = Named;
    type Output = Named;

    fn map(&self, record: Row<Named>, _: &Moment, out: &mut RowMut<Named>) {
        out.put(Named::n, record.get(Named::n).map(|n| n + 10_000));
    }
}

module! {
    "last" => Aggregate(Last),
    "longest" => Aggregate(Longest),
    "nested" => FlatMap(Nested),
    "endless" => FlatMap(Endless),
    "talking" => Filter(Talking),
    "kept" => Process(Kept),
    "opened" => Filter(Opened),
    "priced" => Map(Priced),
    "asking" => Process(Asking),
    "leaving" => Evictor(Leaving),
}

#[test]
fn every_type_in_accumulators_of_variable_width() {
    run(
        FUNCTIONS,
        r#"
function last

case all types, and nulls
create 0
add 0 {"b": true, "i": -1, "l": 9223372036854775807, "f": 1.5, "d": -2.25, "t": -1, "y": -719162, "s": "more than seven", "x": "AAECAwQFBgcICQ=="}
result 0 => {"b": true, "i": -1, "l": 9223372036854775807, "f": 1.5, "d": -2.25, "t": -1, "y": -719162, "s": "more than seven", "x": "AAECAwQFBgcICQ=="}
create 1
add 1 {}
result 1 => {}
merge 1 0
result 1 => {"b": true, "i": -1, "l": 9223372036854775807, "f": 1.5, "d": -2.25, "t": -1, "y": -719162, "s": "more than seven", "x": "AAECAwQFBgcICQ=="}
add 0 {"s": "seven b", "x": ""}
result 0 => {"s": "seven b", "x": ""}

case what was never set is zero and empty
create 0
result 0 => {"b": false, "i": 0, "l": 0, "f": 0, "d": 0, "t": 0, "y": 0, "s": "", "x": ""}

function longest

case words of all lengths
create 0
create 1
add 0 {"s": "a"}
add 1 {"s": "of the other"}
add 0 {"s": "longer than seven"}
add 0 {"s": "b"}
result 0 => {"longest": "longer than seven", "joined": "a,longer than seven,b", "n": 3}
add 1 {"s": "x"}
merge 0 1
result 0 => {"longest": "longer than seven", "joined": "a,longer than seven,b,of the other,x", "n": 5}
"#,
    );
}

/// What `run` says of cases.
fn problems(cases: &'static str) -> String {
    match catch_unwind(|| run(FUNCTIONS, cases)) {
        Ok(()) => String::new(),
        Err(panic) => message_of(&*panic),
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(s), _) => s.to_string(),
        (_, Some(s)) => s.clone(),
        _ => String::new(),
    }
}

#[test]
fn what_is_wrong_is_found() {
    for (cases, want) in [
        ("function last\ncase a\ncreate 0\nresult 0 => {}", "line 4: want emit {}, got emit {\"b\": false"),
        ("function longest\ncase a\ncreate 0\nadd 0 {\"s\": \"a word of some length\"}\nresult 0 => {\"longest\": \"another\"}", "got emit {\"longest\": \"a word of some length\""),
        ("function talking\ncase a\non-record {\"n\": 1}", "got keep beyond what is wanted"),
        ("function talking\ncase a\non-record {\"n\": 1}\n=> keep\n=> keep", "want keep, got nothing"),
        ("function talking\ncase a\non-record {\"n\": 1}\nfail it", "did not fail with \"it\""),
        ("function talking\ncase a\non-record {\"n\": 3}\nfail it", "not with \"it\""),
        ("function kept\ncase a\non-record {}\n=> emit {\"n\": 0}\nstate plain -", "state plain holds [{\"n\": 7}], want []"),
        ("function last\ncase a\ncreate 0\nadd 0 {\"i\": 1, \"s\": \"a\"}\nresult 0 => {\"i\": 2, \"s\": \"a\"}", ": column i is 1, not 2"),
        ("function last\ncase a\ncreate 0\nadd 0 {\"i\": 1}\nresult 0 => {\"i\": 1, \"s\": \"a\"}", ": column s is null, not \"a\""),
        ("function kept\ncase a\non-record {}\n=> emit {\"n\": 0}\nstate plain {\"n\": 8}", "line 5: state plain holds [{\"n\": 7}], want [{\"n\": 8}]: column n is 7, not 8"),
        ("function last\ncase a\ncreate 0\nadd 0 {\"x\": \"AAECAwQ=\"}\nresult 0 => {\"x\": \"AAEC\"}", ": column x is \"AAECAwQ=\", not \"AAEC\""),
        ("function kept\ncase a\non-record {}\n=> set-timer event 5", "want set-timer event 5, got emit {\"n\": 0}"),
        ("function nothing", "no function nothing; there are "),
        ("function last\ncase a\nadd 0 {\"z\": 1}", "the cases: line 3: row {\"z\": 1}: there is no column \"z\"; there are b, i, l"),
        ("function last\ncase a\nadd 0 {\"i\": 2147483648}", "column i: 2147483648 is no INT"),
        ("function last\ncase a\nadd 0 {\"i\": \"7\"}", "column i: \"7\" is no INT"),
        ("function last\ncase a\nwatermark soon", "watermark: \"soon\" is no whole number"),
        ("function last\ncase a\non-record {}", "on-record is not asked of aggregate last: create, add, merge, result are"),
        ("function opened\ncase a\nreact {}", "react is no word of cases"),
        ("", "there are no cases"),
    ] {
        let got = problems(cases);
        assert!(got.contains(want), "{cases}\ngot: {got}\nwant: {want}");
    }
}

#[test]
fn what_is_not_there_is_refused() {
    run(
        FUNCTIONS,
        r#"
function asking

case an output
on-record {"n": 0}
fail wasmstream: process asking asks for output 2 and has 1, numbered from 0

case a state that is read
on-record {"n": 1}
fail wasmstream: process asking uses a state that is not among its STATES

case a state that is written
on-record {"n": 2}
fail wasmstream: process asking uses a state that is not among its STATES

case a map
on-record {"n": 3}
fail wasmstream: process asking uses a state that is not among its STATES

case a list
on-record {"n": 4}
fail wasmstream: process asking uses a state that is not among its STATES

case a timer
on-record {"n": 5}
=> set-timer event 5
on-timer event @5
fail wasmstream: process asking set a timer, which is due, and has no on_timer to be called by it

function leaving

case an element
element {}
element {}
evict before
fail wasmstream: evictor leaving asks for element 2 and has 2, numbered from 0
"#,
    );
}

#[test]
fn failures_have_their_message() {
    run(
        FUNCTIONS,
        r#"
function talking

case fail
on-record {}
fail there is no number

case a panic
on-record {"n": 3}
fail index out of bounds

function nested

case a row while a row is written
on-record {}
fail a row is being written

function endless

case more than fits
on-record {}
fail the effects are too large
"#,
    );
}

#[test]
fn lines_are_logged() {
    run(FUNCTIONS, "function opened\ncase a\nopen {\"must\": 1}\non-record {}\n=> keep");
    assert_eq!(logged(), [(Level::Info, "1.5 none".to_string())]);
    run(
        FUNCTIONS,
        "function opened\ncase a\nopen {\"must\": 1, \"scale\": 2, \"name\": \"x\"}\non-record {}\n=> keep",
    );
    assert_eq!(logged(), [(Level::Info, "2 x".to_string())]);
}

#[test]
fn the_manifest_says_all() {
    let text = manifest(FUNCTIONS);
    for part in [
        r#"{"name": "last", "role": "aggregate", "doc": "the last row", "input": {"fields": [{"name": "b", "type": "BOOLEAN"}"#,
        r#"{"name": "t", "type": "TIMESTAMP(3)"}, {"name": "y", "type": "DATE"}, {"name": "s", "type": "STRING"}, {"name": "x", "type": "BYTES"}"#,
        r#""parameters": [{"name": "scale", "type": "DOUBLE", "default": "1.5", "doc": "a \"quoted\" line"}, {"name": "name", "type": "STRING", "default": "\"none\""}, {"name": "must", "type": "INT"}]"#,
        r#""states": [{"name": "seen", "kind": "value", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}, "ttl": "1h", "ttlUpdate": "read"}"#,
        r#"{"name": "max-price", "type": "DECIMAL(18, 4)"}"#,
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// A frame of ops of one key, whose two states hold nothing.
fn frame(kinds: &[u16], context: &[u64]) -> Vec<u64> {
    let slots = 8 + 2 * kinds.len();
    let row = slots + 4;
    let at = row + 2;
    let total = at + context.len();
    let mut words = vec![0u64; total];
    let mut header = |i: usize, v: usize| words[i / 2] |= (v as u64) << (32 * (i % 2));
    for (i, v) in
        [(1, kinds.len()), (2, 64), (3, slots * 8), (4, 2), (5, 16), (6, row * 8), (7, 16), (8, at * 8), (10, total * 8)]
    {
        header(i, v);
    }
    for (i, kind) in kinds.iter().enumerate() {
        words[8 + 2 * i] = *kind as u64 | if *kind == raw::OP_OPEN { (raw::NO_SLOT as u64) << 32 } else { 0 };
        words[9 + 2 * i] = (row * 8) as u64 | if *kind == raw::OP_OPEN { 0 } else { ((at * 8) as u64) << 32 };
    }
    words[slots] = 3;
    words[slots + 2] = 3;
    words[at..].copy_from_slice(context);
    words
}

fn call(guest: &mut guest::Guest, function: u32, frame: &mut [u64]) -> Option<Vec<u64>> {
    let length = frame.len() as u32 * 8;
    // SAFETY: it is a frame.
    unsafe { guest.call(function, frame.as_mut_ptr().cast(), length).map(<[u64]>::to_vec) }
}

#[test]
fn reads_are_told_where_the_state_wants_it() {
    let mut guest = guest::Guest::new(FUNCTIONS);
    assert_eq!(call(&mut guest, 5, &mut frame(&[raw::OP_OPEN], &[])), Some(vec![]));
    let mut work = frame(&[raw::OP_ON_RECORD, raw::OP_ON_RECORD], &[0; 4]);
    let effects = call(&mut guest, 5, &mut work);
    let (emit, touch) = (raw::EFFECT_EMIT as u64, raw::EFFECT_TOUCH as u64);
    // The second op sees the 7 of the first; the state that was read and tells it is slot 0.
    assert_eq!(effects, Some(vec![emit, 16, 0, 0, touch, 0, emit | 1 << 32, 16, 0, 7, touch | 1 << 32, 0]));
    // The first state still holds nothing, the second one 7.
    assert_eq!(work[12..16], [3, 0, 0, 7]);
}

#[test]
fn frames_of_others_are_refused() {
    let message = |function: u32, change: fn(&mut Vec<u64>)| {
        let mut frame = frame(&[raw::OP_ON_RECORD], &[0; 4]);
        change(&mut frame);
        let panic = catch_unwind(move || call(&mut guest::Guest::new(FUNCTIONS), function, &mut frame)).err();
        panic.map_or(String::new(), |p| message_of(&*p))
    };
    for (function, change, want) in [
        (5, (|_| {}) as fn(&mut Vec<u64>), "was not opened"),
        (99, |_| {}, "no function of that index"),
        (5, |frame| frame[0] |= 9, "another version"),
        (5, |frame| frame.push(0), "another version or length"),
        (5, |frame| frame.truncate(7), "shorter than its header"),
    ] {
        let got = message(function, change);
        assert!(got.contains(want), "got {got:?}, want {want}");
    }
    // A kind of op that the role does not know, of a function that is open.
    let got = catch_unwind(|| {
        let mut guest = guest::Guest::new(FUNCTIONS);
        call(&mut guest, 5, &mut frame(&[raw::OP_OPEN], &[]));
        call(&mut guest, 5, &mut frame(&[raw::OP_EVICT], &[0; 4]))
    });
    let got = got.err().map_or(String::new(), |p| message_of(&*p));
    assert!(got.contains("the role process does not know"), "{got}");
}

#[test]
fn room_is_given_up_to_the_limit() {
    let mut guest = guest::Guest::new(FUNCTIONS);
    assert!(guest.room(0).is_some());
    let large = guest.room(raw::FRAME_BYTES_MAX).map(|at| at as usize % 8);
    assert_eq!(large, Some(0));
    assert_eq!(guest.room(raw::FRAME_BYTES_MAX + 1), None);
}

schema! {
    pub struct Texts {
        a: String,
        b: String,
    }
}

/// The one form of a row of two texts, written by hand.
fn texts(a: Option<&str>, b: Option<&str>) -> Vec<u64> {
    let mut words = vec![0u64; 3];
    for (i, text) in [a, b].iter().enumerate() {
        let bytes = match text {
            None => {
                words[0] |= 1 << (8 + i);
                continue;
            }
            Some(text) => text.as_bytes(),
        };
        let word = |from: &[u8]| from.iter().rev().fold(0u64, |w, b| w << 8 | *b as u64);
        if bytes.len() < 8 {
            words[1 + i] = word(bytes) | (0x80 | bytes.len() as u64) << 56;
            continue;
        }
        words[1 + i] = (words.len() as u64 * 8) << 32 | bytes.len() as u64;
        words.extend(bytes.chunks(8).map(word));
    }
    words
}

#[test]
fn rows_have_one_form_however_they_are_written() {
    let (long, other, third) = ("longer than seven", "and another, of more than three words", "eight by");
    let written = |fill: fn(&mut RowMut<Texts>)| {
        let (mut effects, arena) = (effects::Effects::new(), arena::Arena::new());
        // Twice, so that the buffer has room behind the second one.
        for op in 0..2 {
            effects.push_row(raw::EFFECT_EMIT, op, 0, &arena, Texts::LAYOUT, fill);
        }
        let words = effects.finish().unwrap_or(&[]).to_vec();
        let (first, second) = words.split_at(words.len() / 2);
        for (op, row) in [first, second].iter().enumerate() {
            assert_eq!(row[..2], [raw::EFFECT_EMIT as u64 | (op as u64) << 32, (row.len() as u64 - 2) * 8]);
        }
        assert_eq!(first[2..], second[2..]);
        second[2..].to_vec()
    };
    for (i, (got, want)) in [
        (written(|_| {}), texts(Some(""), Some(""))),
        (
            written(|out| {
                out.set(Texts::a, "longer than seven");
                out.set(Texts::b, "eight by")
            }),
            texts(Some(long), Some(third)),
        ),
        (
            written(|out| {
                out.set(Texts::b, "eight by");
                out.set(Texts::a, "longer than seven")
            }),
            texts(Some(long), Some(third)),
        ),
        (
            written(|out| {
                out.set(Texts::a, "eight by");
                out.set(Texts::a, "longer than seven");
                out.set(Texts::b, "abc")
            }),
            texts(Some(long), Some("abc")),
        ),
        (
            written(|out| {
                out.set(Texts::a, "longer than seven");
                out.set(Texts::a, "eight by")
            }),
            texts(Some(third), Some("")),
        ),
        (
            written(|out| {
                out.set(Texts::a, "longer than seven");
                out.set(Texts::a, "short");
                out.set(Texts::b, "eight by")
            }),
            texts(Some("short"), Some(third)),
        ),
        (
            written(|out| {
                out.set(Texts::a, "longer than seven");
                out.set_null(Texts::a);
                out.set(Texts::b, "eight by")
            }),
            texts(None, Some(third)),
        ),
        (
            written(|out| {
                out.set_null(Texts::a);
                out.set(Texts::b, "and another, of more than three words")
            }),
            texts(None, Some(other)),
        ),
        (
            written(|out| {
                out.set(Texts::b, "longer than seven");
                let before = out.value(Texts::b).to_string();
                out.set(Texts::a, &before);
            }),
            texts(Some(long), Some(long)),
        ),
        (
            written(|out| {
                out.set(Texts::a, "longer than seven");
                out.put(Texts::b, Some("four"))
            }),
            texts(Some(long), Some("four")),
        ),
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(got, want, "row {i}");
    }
    // Copies: of a whole row, of a field, and over what was there.
    let row = texts(Some(long), Some(other));
    let (mut effects, arena) = (effects::Effects::new(), arena::Arena::new());
    // SAFETY: it is a row of the schema.
    let from = unsafe { Row::<Texts>::at(row.as_ptr().cast()) };
    for _ in 0..2 {
        effects.clear();
        effects.push_row::<Texts>(0, 0, 0, &arena, Texts::LAYOUT, |out| out.copy(from));
        assert_eq!(effects.finish().map(|w| w[2..].to_vec()), Some(row.clone()));
        effects.clear();
        effects.push_row::<Texts>(0, 0, 0, &arena, Texts::LAYOUT, |out| {
            out.set(Texts::a, third);
            out.copy(from);
            out.copy_field(Texts::a, from, Texts::b);
        });
        assert_eq!(effects.finish().map(|w| w[2..].to_vec()), Some(texts(Some(other), Some(other))));
    }
}
