//! Functions whose states are reached by calls of the host: a map, a list, broadcast state, and those of windows.

use wasmstream::*;

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
    pub struct Told {
        user: String,
        n: BigInt,
    }
    pub struct Rated {
        amount: BigInt,
        other: BigInt,
    }
}

states! {
    struct TallyStates {
        sums: Map<Person, Number>,
        amounts: List<Number>,
    }
}

outputs! {
    struct TallyOutputs {
        amounts: Number,
    }
}

states! {
    struct RateStates {
        count: Value<Number>,
        rates: Map<Person, Number> { scope: "broadcast" },
    }
}

states! {
    struct VariedStates {
        amounts: List<Number> { scope: "window" },
        users: Map<Person, Number> { scope: "window" },
    }
}

function! {
    /// sums by user and a list of amounts
    pub struct Tally: states(TallyStates), outputs(TallyOutputs);

    /// amounts times a rate that comes by broadcast
    pub struct Rate: states(RateStates);

    /// fires at an amount that was there before, and purges at a user's third record
    pub struct Varied: states(VariedStates);
}

/// An amount of 0 tells all, and one of -1 forgets all.
impl Process for Tally {
    type Key = ();
    type Input = Payment;
    type Output = Told;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Told>) {
        let (sums, amounts) = (context.map(TallyStates::sums), context.list(TallyStates::amounts));
        match payment.value(Payment::amount) {
            0 => {
                for (person, sum) in sums.iter() {
                    context.emit(|out| {
                        out.set(Told::user, person.value(Person::user));
                        out.set(Told::n, sum.value(Number::n));
                    });
                }
                for amount in amounts.iter() {
                    context.emit_row_to(TallyOutputs::amounts, amount);
                }
            }
            amount if amount > 0 => {
                let user = payment.value(Payment::user);
                let sum = sums.get(|key| key.set(Person::user, user)).map_or(0, |sum| sum.value(Number::n));
                sums.put(|key| key.set(Person::user, user), |value| value.set(Number::n, sum + amount));
                amounts.push(|value| value.set(Number::n, amount));
            }
            -1 => {
                sums.clear();
                amounts.clear();
            }
            _ => {}
        }
    }
}

/// A rate of 0 takes the user's rate away and, of every key, the count of its payments.
impl BroadcastProcess for Rate {
    type Key = ();
    type Input = Payment;
    type Second = Payment;
    type Output = Rated;

    fn on_record(&self, payment: Row<Payment>, context: &mut Keyed<(), Rated>) {
        let mut count = context.edit(RateStates::count);
        let payments = count.value(Number::n) + 1;
        count.set(Number::n, payments);
        let rate = context.map(RateStates::rates).get(|key| key.set(Person::user, payment.value(Payment::user)));
        context.emit(|out| {
            out.set(Rated::amount, payments);
            out.put(Rated::other, rate.map(|rate| payment.value(Payment::amount) * rate.value(Number::n)));
        });
    }

    fn on_broadcast(&self, rate: Row<Payment>, context: &mut Broadcast<Rated>) {
        let rates = context.map(RateStates::rates);
        match rate.value(Payment::amount) {
            0 => {
                rates.delete(|key| key.set(Person::user, rate.value(Payment::user)));
                context.visit_keys();
            }
            n => rates.put(|key| key.set(Person::user, rate.value(Payment::user)), |value| value.set(Number::n, n)),
        }
    }

    fn on_key(&self, _: Row<Payment>, key: &mut Visited<()>) {
        key.clear(RateStates::count);
    }
}

impl Varied {
    /// Counts records of a user, and tells how many there are.
    fn count(window: &Window<()>, user: &str, more: i64) -> i64 {
        let users = window.map(VariedStates::users);
        let n = more + users.get(|key| key.set(Person::user, user)).map_or(0, |n| n.value(Number::n));
        users.put(|key| key.set(Person::user, user), |value| value.set(Number::n, n));
        n
    }
}

impl Trigger for Varied {
    type Input = Payment;
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, payment: Row<Payment>, window: &mut Window<()>) -> Decision {
        let amounts = window.list(VariedStates::amounts);
        let amount = payment.value(Payment::amount);
        let again = amounts.iter().any(|n| n.value(Number::n) == amount);
        amounts.push(|value| value.set(Number::n, amount));
        let third = Varied::count(window, payment.value(Payment::user), 1) == 3;
        match (again, third) {
            (true, true) => Decision::FireAndPurge,
            (true, false) => Decision::Fire,
            (false, true) => Decision::Purge,
            (false, false) => Decision::Continue,
        }
    }

    fn on_merge(&self, window: &mut Window<()>) {
        window.merge_list(VariedStates::amounts);
        for i in 0..window.merged() {
            for (user, n) in window.merged_map(i, VariedStates::users).iter() {
                Varied::count(window, user.value(Person::user), n.value(Number::n));
            }
        }
    }
}

module! {
    "tally" => Process(Tally),
    "rated" => BroadcastProcess(Rate),
    "varied" => Trigger(Varied),
}

#[test]
fn cases() {
    wasmstream::testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}
