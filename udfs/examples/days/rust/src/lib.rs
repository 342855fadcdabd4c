//! Assigns records to the calendar days of a zone of Europe, where clocks go forward at one o'clock Greenwich on the last
//! Sunday of March, and back on that of October.

use wasmstream::*;

schema! {
    pub struct Zone {
        /// ahead of Greenwich in winter
        hours: BigInt = 1,
    }
}

const HOUR: i64 = 3_600_000; // milliseconds
const DAY: i64 = 24 * HOUR;

pub struct Days {
    /// How far local time is ahead of Greenwich in winter.
    winter: i64,
}

impl Function for Days {
    type Parameters = Zone;
    const DOC: &'static str = "calendar days of a zone of Europe, with summer time";

    fn open(open: &Open<Zone>) -> Days {
        Days { winter: HOUR * open.parameters().value(Zone::hours) }
    }
}

/// How many days there are between 1970 and the first of a month, March or a later one, in the Gregorian calendar: years are
/// taken to begin in March.
fn days_before(year: i64, month: i64) -> i64 {
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * (month - 3) + 2) / 5 - 719_468
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn year_of(date: i64) -> i64 {
    let first_day = |year| days_before(year, 3) - 31 - 28 - is_leap(year) as i64;
    let mut year = 1970 + date.div_euclid(366);
    while first_day(year + 1) <= date {
        year += 1;
    }
    year
}

/// The last Sunday of a month of 31 days, as a number of days since 1970, which began with a Thursday.
fn last_sunday(year: i64, month: i64) -> i64 {
    let last = days_before(year, month) + 30;
    last - (last + 4).rem_euclid(7)
}

impl Days {
    /// How far local time is ahead of Greenwich at a time.
    fn ahead(&self, time: i64) -> i64 {
        let year = year_of(time.div_euclid(DAY));
        let summer = last_sunday(year, 3) * DAY + HOUR..last_sunday(year, 10) * DAY + HOUR;
        self.winter + if summer.contains(&time) { HOUR } else { 0 }
    }

    /// The time at which a local date begins. At midnight nobody changes the clock.
    fn midnight(&self, date: i64) -> i64 {
        date * DAY - self.ahead(date * DAY - self.winter - HOUR / 2)
    }
}

impl Assigner for Days {
    type Input = ();

    fn assign(&self, _: Row<()>, moment: &Moment, windows: &mut Windows) {
        let time = moment.time().unwrap_or_else(|| fail("a record without a time"));
        let date = (time + self.ahead(time)).div_euclid(DAY);
        windows.assign(self.midnight(date), self.midnight(date + 1));
    }
}

module! {
    "days" => Assigner(Days),
}

#[test]
fn cases() {
    testing::run(FUNCTIONS, include_str!("../../cases.txt"));
}
