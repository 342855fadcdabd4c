//! Makes a key of the user and a salt, so that the load of a hot user is spread.

use wasmstream::*;

schema! {
    pub struct Event {
        user: String,
        number: BigInt,
    }
    pub struct Salted {
        who: String,
        salt: Int,
    }
    pub struct Salts {
        salts: BigInt = 8,
    }
}

pub struct Salt {
    salts: i64,
}

impl Function for Salt {
    type Parameters = Salts;
    const DOC: &'static str =
        "the user and a salt, made of the record's number: the load of a hot user is spread over several keys";

    fn open(open: &Open<Salts>) -> Salt {
        Salt { salts: open.parameters().value(Salts::salts) }
    }
}

impl Key for Salt {
    type Input = Event;
    type Output = Salted;

    fn key(&self, event: Row<Event>, _: &Moment, key: &mut RowMut<Salted>) {
        key.put(Salted::who, event.get(Event::user));
        key.set(Salted::salt, event.value(Event::number).rem_euclid(self.salts) as i32);
    }
}

module! {
    "salt" => Key(Salt),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}
