//! A function of each role: what a host asks, once over, and examples as small as they can be.

mod keyed;
mod records;
mod windows;

use wasmstream::{module, schema};

schema! {
    pub struct Payment {
        user: String,
        amount: BigInt,
    }
    pub struct Number {
        n: BigInt,
    }
    pub struct Person {
        user: String,
    }
    /// Two amounts.
    pub struct Pair {
        amount: BigInt,
        other: BigInt,
    }
}

module! {
    "scale" => Map(records::Scale),
    "positive" => Filter(records::Positive),
    "split" => FlatMap(records::Split),
    "by-user" => Key(records::ByUser),
    "stamped" => Timestamp(records::Stamped),
    "total" => Aggregate(windows::Total),
    "largest" => Reduce(windows::Largest),
    "content" => Apply(windows::Content),
    "described" => Apply(windows::Described),
    "tumbling" => Assigner(windows::Tumbling),
    "gap" => Assigner(windows::Gap),
    "every" => Trigger(windows::Every),
    "newest" => Evictor(windows::Newest),
    "idle" => Process(keyed::Idle),
    "joined" => Process(keyed::Joined),
    "latest" => CoProcess(keyed::Latest),
    "matched" => Join(keyed::Matched),
    "balance" => CoGroup(windows::Balance),
    "asked" => Enrich(records::Asked),
    "words" => Decode(records::Words),
    "written" => Encode(records::Written),
    "present" => Filter(records::Present),
    "longest" => Aggregate(windows::Longest),
}

#[test]
fn cases() {
    wasmstream::testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}
