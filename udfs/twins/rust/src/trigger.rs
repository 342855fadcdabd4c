//! Triggers, one within the other.

use crate::{number, Number, Rule};
use wasmstream::*;

schema! {
    /// What a trigger remembers of a window: each null when it is not set.
    pub struct Memory {
        number: BigInt,
        last: Double,
        timeout: BigInt,
    }
}

states! {
    struct States {
        memory: Value<Memory> { scope: "window" },
    }
}

/// A trigger, without those within it.
enum Kind {
    EventTime,
    ProcessingTime,
    Never,
    EndOfStream,
    Count(i64),
    /// With its interval.
    Continuous(Domain, i64),
    Delta,
    Purging,
    Timeout {
        after: i64,
        resets: bool,
    },
}

pub struct Rules {
    /// From the outermost to the innermost.
    kinds: Vec<Kind>,
    field: Option<Number>,
    threshold: f64,
}

impl Function for Rules {
    type Parameters = Rule;
    const STATES: &'static [State] = States::ALL;

    fn open(open: &Open<Rule>) -> Rules {
        let parameters = open.parameters();
        let field = Number::find(open.input(), parameters.value(Rule::field));
        let mut kinds = Vec::new();
        let mut words = parameters.value(Rule::rule).split(' ');
        while let Some(word) = words.next() {
            kinds.push(match word {
                "event-time" => Kind::EventTime,
                "processing-time" => Kind::ProcessingTime,
                "never" => Kind::Never,
                "end-of-stream" => Kind::EndOfStream,
                "count" => Kind::Count(number(words.next())),
                "continuous-event-time" => Kind::Continuous(Domain::Event, number(words.next())),
                "continuous-processing-time" => Kind::Continuous(Domain::Processing, number(words.next())),
                "delta" => Kind::Delta,
                "purging" => Kind::Purging,
                "timeout" => Kind::Timeout { after: number(words.next()), resets: false },
                "timeout-reset" => Kind::Timeout { after: number(words.next()), resets: true },
                _ => fail(&["no trigger is called ", word].concat()),
            });
        }
        Rules { kinds, field, threshold: parameters.value(Rule::threshold) }
    }
}

/// A trigger being asked.
struct Asked<'r, 'w, 'o> {
    rules: &'r Rules,
    window: &'w Window<'o, ()>,
    number: Option<i64>,
    last: Option<f64>,
    timeout: Option<i64>,
}

use Decision::{Continue, Fire, FireAndPurge, Purge};

fn fires(decision: Decision) -> bool {
    matches!(decision, Fire | FireAndPurge)
}

fn purged(decision: Decision) -> Decision {
    match decision {
        Fire => FireAndPurge,
        decision => decision,
    }
}

impl Asked<'_, '_, '_> {
    fn has_passed(&self) -> bool {
        self.window.last() <= self.window.watermark()
    }

    fn time(&self) -> i64 {
        self.window.time().unwrap_or(i64::MIN)
    }

    fn on_element(&mut self, at: usize, record: Row<Any>) -> Decision {
        match &self.rules.kinds[at] {
            Kind::EventTime if self.has_passed() => return Fire,
            Kind::EventTime | Kind::EndOfStream => self.window.set_timer(Domain::Event, self.window.last()),
            Kind::ProcessingTime => self.window.set_timer(Domain::Processing, self.window.last()),
            Kind::Never => {}
            Kind::Count(n) => {
                let seen = self.number.unwrap_or(0) + 1;
                self.number = if seen < *n { Some(seen) } else { None };
                return if seen < *n { Continue } else { Fire };
            }
            Kind::Continuous(Domain::Event, interval) => {
                if self.has_passed() {
                    return Fire;
                }
                self.window.set_timer(Domain::Event, self.window.last());
                self.begin(Domain::Event, *interval, self.time());
            }
            Kind::Continuous(domain, interval) => self.begin(*domain, *interval, self.window.clock()),
            Kind::Delta => {
                let value = self.rules.field.map_or(f64::NAN, |field| field.double(record));
                let leaps = self.last.map(|last| value - last > self.rules.threshold);
                if leaps != Some(false) {
                    self.last = Some(value);
                }
                return if leaps == Some(true) { Fire } else { Continue };
            }
            Kind::Purging => return purged(self.on_element(at + 1, record)),
            Kind::Timeout { after, resets } => return self.on_element_or_timeout(at, record, *after, *resets),
        }
        Continue
    }

    fn on_element_or_timeout(&mut self, at: usize, record: Row<Any>, after: i64, resets: bool) -> Decision {
        let answer = self.on_element(at + 1, record);
        if fires(answer) {
            self.clear(at);
            return answer;
        }
        if resets {
            self.forget_timeout();
        }
        if self.timeout.is_none() {
            let time = self.window.clock().wrapping_add(after);
            self.timeout = Some(time);
            self.window.set_timer(Domain::Processing, time);
        }
        answer
    }

    /// Sets the first timer of a continuous trigger.
    fn begin(&mut self, domain: Domain, interval: i64, time: i64) {
        if self.number.is_none() {
            self.next(domain, interval, time.wrapping_sub(time.wrapping_rem(interval)));
        }
    }

    fn next(&mut self, domain: Domain, interval: i64, time: i64) {
        let at = time.wrapping_add(interval).min(self.window.last());
        self.number = Some(at);
        self.window.set_timer(domain, at);
    }

    fn on_timer(&mut self, at: usize, domain: Domain) -> Decision {
        let is_last = self.time() == self.window.last();
        match &self.rules.kinds[at] {
            Kind::EventTime | Kind::EndOfStream if domain == Domain::Event && is_last => Fire,
            Kind::ProcessingTime if domain == Domain::Processing => Fire,
            Kind::Continuous(of, interval) if *of == domain => {
                if is_last {
                    return Fire;
                }
                if self.number != Some(self.time()) {
                    return Continue;
                }
                self.next(domain, *interval, self.time());
                Fire
            }
            Kind::Purging => purged(self.on_timer(at + 1, domain)),
            Kind::Timeout { .. } => {
                let answer = self.on_timer(at + 1, domain);
                self.clear(at);
                if matches!(answer, Purge | FireAndPurge) {
                    FireAndPurge
                } else {
                    Fire
                }
            }
            _ => Continue,
        }
    }

    fn on_merge(&mut self, at: usize) {
        let merged = || {
            let state = |i| self.window.merged_state(i, States::memory);
            (0..self.window.merged()).filter_map(move |i| state(i)?.get(Memory::number))
        };
        match &self.rules.kinds[at] {
            Kind::EventTime if !self.has_passed() => self.window.set_timer(Domain::Event, self.window.last()),
            Kind::ProcessingTime if self.window.last() > self.window.clock() => {
                self.window.set_timer(Domain::Processing, self.window.last());
            }
            Kind::Count(_) => self.number = merged().fold(None, |sum: Option<i64>, n| Some(sum.unwrap_or(0) + n)),
            Kind::Continuous(domain, _) => {
                self.number = merged().min();
                if let Some(at) = self.number {
                    self.window.set_timer(*domain, at);
                }
            }
            Kind::Purging => self.on_merge(at + 1),
            _ => {}
        }
    }

    fn clear(&mut self, at: usize) {
        match &self.rules.kinds[at] {
            Kind::EventTime => self.window.delete_timer(Domain::Event, self.window.last()),
            Kind::ProcessingTime => self.window.delete_timer(Domain::Processing, self.window.last()),
            Kind::Count(_) => self.number = None,
            Kind::Continuous(domain, _) => {
                if let Some(at) = self.number.take() {
                    self.window.delete_timer(*domain, at);
                }
            }
            Kind::Delta => self.last = None,
            Kind::Purging => self.clear(at + 1),
            Kind::Timeout { .. } => {
                self.forget_timeout();
                self.clear(at + 1);
            }
            Kind::Never | Kind::EndOfStream => {}
        }
    }

    fn forget_timeout(&mut self) {
        if let Some(at) = self.timeout.take() {
            self.window.delete_timer(Domain::Processing, at);
        }
    }
}

impl Rules {
    /// Asks with what the window's state says, and writes there what it says then.
    fn ask<R>(&self, window: &mut Window<()>, ask: impl FnOnce(&mut Asked) -> R) -> R {
        let memory = window.get(States::memory);
        let number = memory.and_then(|m| m.get(Memory::number));
        let last = memory.and_then(|m| m.get(Memory::last));
        let timeout = memory.and_then(|m| m.get(Memory::timeout));
        let mut asked = Asked { rules: self, window, number, last, timeout };
        let answer = ask(&mut asked);
        let (number, last, timeout) = (asked.number, asked.last, asked.timeout);
        if number.is_none() && last.is_none() && timeout.is_none() {
            window.clear(States::memory);
        } else {
            let mut memory = window.edit(States::memory);
            memory.put(Memory::number, number);
            memory.put(Memory::last, last);
            memory.put(Memory::timeout, timeout);
        }
        answer
    }
}

impl Trigger for Rules {
    type Input = Any;
    type Key = ();
    const MERGES: bool = true;

    fn on_element(&self, record: Row<Any>, window: &mut Window<()>) -> Decision {
        self.ask(window, |asked| asked.on_element(0, record))
    }

    fn on_event_time(&self, window: &mut Window<()>) -> Decision {
        self.ask(window, |asked| asked.on_timer(0, Domain::Event))
    }

    fn on_processing_time(&self, window: &mut Window<()>) -> Decision {
        self.ask(window, |asked| asked.on_timer(0, Domain::Processing))
    }

    fn on_merge(&self, window: &mut Window<()>) {
        self.ask(window, |asked| asked.on_merge(0));
    }

    fn clear(&self, window: &mut Window<()>) {
        self.ask(window, |asked| asked.clear(0));
    }
}
