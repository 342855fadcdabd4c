//! Functions of single records.

use crate::{Number, Payment, Person};
use wasmstream::*;

schema! {
    pub struct Factor {
        factor: BigInt = 2,
    }
    pub struct Name {
        column: String,
    }
    pub struct Line {
        user: String,
        text: String,
    }
}

outputs! {
    struct SplitOutputs {
        last: Number,
    }
}

function! {
    /// amounts above 0
    pub struct Positive;
    /// as many rows as the amount says, the last one to another output
    pub struct Split: outputs(SplitOutputs);
    /// the user
    pub struct ByUser;
    /// the amount is the time, every tenth a watermark
    pub struct Stamped;
    /// asks who the user is
    pub struct Asked;
    /// a row for each word
    pub struct Words;
    /// the user
    pub struct Written;
}

pub struct Scale {
    factor: i64,
}

impl Function for Scale {
    type Parameters = Factor;
    const DOC: &'static str = "the amount times a factor";

    fn open(open: &Open<Factor>) -> Scale {
        Scale { factor: open.parameters().value(Factor::factor) }
    }
}

impl Map for Scale {
    type Input = Payment;
    type Output = Payment;

    fn map(&self, payment: Row<Payment>, _: &Moment, out: &mut RowMut<Payment>) {
        out.put(Payment::user, payment.get(Payment::user));
        out.put(Payment::amount, payment.get(Payment::amount).map(|amount| amount * self.factor));
    }
}

impl Filter for Positive {
    type Input = Payment;

    fn keep(&self, payment: Row<Payment>, _: &Moment) -> bool {
        let amount = payment.value(Payment::amount);
        if amount == i64::MIN {
            fail("an amount that cannot be");
        }
        amount > 0
    }
}

impl FlatMap for Split {
    type Input = Payment;
    type Output = Number;

    fn flat_map(&self, payment: Row<Payment>, _: &Moment, out: &Emitter<Number>) {
        let amount = payment.value(Payment::amount);
        for n in 1..amount {
            out.emit(|row| row.set(Number::n, n));
        }
        if amount > 0 {
            out.emit_to(SplitOutputs::last, |row| row.set(Number::n, amount));
        }
    }
}

impl Key for ByUser {
    type Input = Payment;
    type Output = Person;

    fn key(&self, payment: Row<Payment>, _: &Moment, key: &mut RowMut<Person>) {
        key.put(Person::user, payment.get(Payment::user));
    }
}

impl Timestamp for Stamped {
    type Input = Payment;

    fn timestamp(&self, payment: Row<Payment>, _: &Moment) -> i64 {
        payment.value(Payment::amount)
    }

    fn watermark(&self, _: Row<Payment>, timestamp: i64) -> Option<i64> {
        Some(timestamp).filter(|t| t % 10 == 0)
    }
}

impl Enrich for Asked {
    type Input = Payment;
    type Output = Line;

    fn on_record(&self, payment: Row<Payment>, out: &Enrichment<Line>) {
        if let Some(user) = payment.get(Payment::user) {
            out.request(|request| {
                request.set(Request::method, "GET");
                request.set(Request::url, &["/users/", user].concat());
                request.set_null(Request::headers);
                request.set_null(Request::body);
            });
        }
    }

    fn on_answer(&self, payment: Row<Payment>, answer: Row<Answer>, out: &Emitter<Line>) {
        let text = match answer.is_null(Answer::status) {
            true => answer.value(Answer::error),
            false => std::str::from_utf8(answer.value(Answer::body)).unwrap_or_else(|_| fail("an answer that is not UTF-8")),
        };
        out.emit(|line| {
            line.set(Line::user, payment.value(Payment::user));
            line.set(Line::text, text);
        });
    }
}

impl Decode for Words {
    type Output = Person;

    fn decode(&self, message: Row<Message>, _: &Moment, out: &Emitter<Person>) {
        let text = std::str::from_utf8(message.value(Message::value)).unwrap_or_else(|_| fail("a message that is not UTF-8"));
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            out.emit(|person| person.set(Person::user, word));
        }
    }
}

impl Encode for Written {
    type Input = Payment;

    fn encode(&self, payment: Row<Payment>, _: &Moment, message: &mut RowMut<Message>) {
        let user = payment.get(Payment::user).map(str::as_bytes);
        message.put(Message::value, user);
        message.put(Message::key, user);
    }
}

pub struct Present {
    column: Column<Any, ()>,
}

impl Function for Present {
    type Parameters = Name;
    const DOC: &'static str = "records whose column is not null";

    fn open(open: &Open<Name>) -> Present {
        match open.input().locate(open.parameters().value(Name::column)) {
            Some(column) => Present { column },
            None => fail("the input has no such column"),
        }
    }
}

impl Filter for Present {
    type Input = Any;

    fn keep(&self, record: Row<Any>, _: &Moment) -> bool {
        !record.is_null(self.column)
    }
}
