//! Time of a profile in functions that are recognized by their names, and which of the program's own functions asked for them.
//!
//! A stack counts once, where the first of these functions was entered. Threads overlap, so an amount is that of the thread
//! in which it is largest, and the whole is the longest thread, its waiting included: no share passes what could be saved.

use std::collections::BTreeMap;

use stepscope_model::{FrameId, Order, Profile, ValueUnit};

use super::functions::AmountUnit;
use crate::names::function::Function;
use crate::names::library_file::is_library_file;
use crate::names::python_frame::WAITING;
use crate::scope::NONE;

/// Callers that are walked up to find one of the program's own.
const MAX_CALLERS: usize = 100;
/// What Python calls the thread that a program begins with.
const MAIN_THREAD: &str = "MainThread";

/// A function of the program, and how much it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionAmount {
    pub name: String,
    pub file: String,
    /// The line: where the call is if the profile says, else where the function starts; 0 if neither is known.
    pub line: u32,
    pub amount: i64,
}

impl FunctionAmount {
    /// As traces write frames: `train.py(12): load`.
    pub fn frame(&self) -> String {
        format!("{}({}): {}", self.file, self.line, self.name)
    }

    /// As sentences do: `load (train.py:12)`.
    pub fn describe(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match self.line {
            0 => format!("{} ({file})", self.name),
            line => format!("{} ({file}:{line})", self.name),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionsTotal {
    /// How much, in the profile's unit.
    pub amount: i64,
    /// The same as a share of the whole.
    pub share: f64,
    /// Who asked for it, the largest first.
    pub places: Vec<FunctionAmount>,
    /// The functions that were entered, with how much each took, the largest first.
    pub entered: Vec<(String, i64)>,
    /// How often they were entered from elsewhere, where calls were counted.
    pub calls: Option<u64>,
}

/// A profile, ready to be asked about functions.
pub struct PythonTime<'a> {
    profile: &'a Profile,
    value: usize,
    /// What amounts are: time or samples.
    pub unit: AmountUnit,
    /// By frame: whether the function is the program's own.
    own: Vec<bool>,
    /// By part: all of its time, waiting included.
    parts: Vec<i64>,
    /// The longest part.
    pub whole: i64,
    /// By part: the time in which it did not wait.
    pub busy: Vec<i64>,
    /// By frame: the function that called it for the longest, where calls were counted.
    up: Vec<u32>,
    /// The part that is the main thread: the one of that name, else the longest.
    main: usize,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SampleFilter {
    /// Those in which the thread did not wait.
    Busy,
    /// Those in which the main thread waited.
    Waiting,
    /// All of the main thread, where the profile does not say who waits.
    Main,
}

impl<'a> PythonTime<'a> {
    /// Looks at a profile; none if it has no times and no samples, or nothing in it took any.
    pub fn new(profile: &'a Profile) -> Option<PythonTime<'a>> {
        let time = profile.values().iter().rposition(|value| value.unit == ValueUnit::Nanoseconds);
        let plain = profile.values().iter().position(|value| value.unit == ValueUnit::Plain);
        let counted = profile.samples().is_empty();
        let (value, unit) = match (time, plain, counted) {
            (_, _, true) => (0, AmountUnit::Nanoseconds),
            (Some(value), _, _) => (value, AmountUnit::Nanoseconds),
            (None, Some(value), _) => (value, AmountUnit::Samples),
            (None, None, _) => return None,
        };
        let stacks = &profile.stacks;
        let own = stacks.frames().map(|(_, frame)| !is_library_file(stacks.text(frame.file))).collect();
        let mut parts = vec![0i64; profile.parts.len().max(1)];
        let mut busy = parts.clone();
        for sample in profile.samples().iter() {
            let amount = sample.amounts.get(value).copied().unwrap_or(0);
            let (Some(all), Some(worked)) = (parts.get_mut(sample.part), busy.get_mut(sample.part)) else {
                continue;
            };
            *all = all.saturating_add(amount);
            let waits = stacks.pop(sample.stack).is_some_and(|(_, frame)| stacks.name(frame) == WAITING);
            if !waits {
                *worked = worked.saturating_add(amount);
            }
        }
        if counted {
            parts[0] = profile.calls.iter().map(|row| row.self_ns.0).fold(0, i64::saturating_add);
            busy[0] = parts[0];
        }
        let whole = parts.iter().copied().max().unwrap_or(0);
        let mut up = vec![NONE; stacks.frames().len()];
        for row in &profile.calls {
            let callers = row.callers.iter().filter(|caller| caller.frame != row.frame);
            let most = callers.max_by_key(|caller| (caller.total_ns, std::cmp::Reverse(caller.frame)));
            if let Some(caller) = most {
                up[row.frame.index()] = caller.frame.index() as u32;
            }
        }
        let named = profile.parts.iter().position(|part| part.contains(MAIN_THREAD));
        let longest = || (0..parts.len()).max_by_key(|&at| (parts[at], std::cmp::Reverse(at)));
        let main = named.or_else(longest).unwrap_or(0);
        (whole > 0).then_some(PythonTime { profile, value, unit, own, parts, whole, busy, up, main })
    }

    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    pub fn function(&self, frame: FrameId) -> Function<'a> {
        let stacks = &self.profile.stacks;
        let frame = stacks.get(frame);
        Function { name: stacks.text(frame.name), file: stacks.text(frame.file) }
    }

    /// Whether a frame is the program's own.
    pub fn is_own(&self, frame: FrameId) -> bool {
        self.own[frame.index()]
    }

    pub fn place(&self, frame: FrameId, amount: i64) -> FunctionAmount {
        let Function { name, file } = self.function(frame);
        let line = self.profile.stacks.get(frame).line;
        FunctionAmount { name: name.to_owned(), file: file.to_owned(), line, amount }
    }

    /// Whether the profile says which threads wait.
    pub fn knows_waiting(&self) -> bool {
        self.busy != self.parts
    }

    /// The time in which threads of the main thread's process did not wait, thread by thread: each process has a lock of its own.
    pub fn busy_beside_main(&self) -> Vec<i64> {
        let process = |part: &String| part.rsplit_once(", thread ").map(|(process, _)| process.to_owned());
        let names = &self.profile.parts;
        let main = names.get(self.main).and_then(process);
        let is_beside = |at: usize| names.get(at).and_then(process) == main;
        self.busy.iter().enumerate().filter(|(at, _)| is_beside(*at)).map(|(_, busy)| *busy).collect()
    }

    /// The main thread's time, waiting included.
    pub fn main(&self) -> i64 {
        self.parts.get(self.main).copied().unwrap_or(0)
    }

    /// What the functions that are meant took; none if nothing.
    pub fn spent(&self, is_meant: impl Fn(Function<'a>) -> bool) -> Option<FunctionsTotal> {
        self.counted(SampleFilter::Busy, is_meant, |_| false)
    }

    /// The same of these samples only, and of no stack that holds one of the functions that are not meant.
    pub fn counted(
        &self,
        count: SampleFilter,
        is_meant: impl Fn(Function<'a>) -> bool,
        is_not: impl Fn(Function<'a>) -> bool,
    ) -> Option<FunctionsTotal> {
        let stacks = &self.profile.stacks;
        let meant: Vec<bool> = stacks.frames().map(|(id, _)| is_meant(self.function(id))).collect();
        let not: Vec<bool> = stacks.frames().map(|(id, _)| is_not(self.function(id))).collect();
        if !meant.contains(&true) {
            return None;
        }
        let mut spent = match self.profile.samples().is_empty() {
            true => self.by_calls(&meant, &not),
            false => self.by_stacks(&meant, &not, count),
        };
        if !self.profile.calls.is_empty() {
            spent.calls = self.calls(&meant);
        }
        (spent.amount > 0).then_some(spent)
    }

    fn by_stacks(&self, meant: &[bool], not: &[bool], count: SampleFilter) -> FunctionsTotal {
        let stacks = &self.profile.stacks;
        // By stack: the frame in which the first of the functions was entered, and the program's frame around it.
        let mut entered = vec![NONE; stacks.len()];
        let mut asked = vec![NONE; stacks.len()];
        let mut left_out = vec![false; stacks.len()];
        for (stack, below, frame) in stacks.nodes() {
            let (at, below) = (stack.index(), below.index());
            (entered[at], asked[at]) = (entered[below], asked[below]);
            left_out[at] = left_out[below] || not[frame.index()];
            if entered[at] != NONE {
                continue;
            }
            if meant[frame.index()] {
                entered[at] = frame.index() as u32;
            } else if self.own[frame.index()] {
                asked[at] = frame.index() as u32;
            }
        }
        let mut parts = vec![0i64; self.parts.len()];
        let (mut places, mut functions) = (BTreeMap::<u32, i64>::new(), BTreeMap::<&str, i64>::new());
        let frames: Vec<FrameId> = stacks.frames().map(|(id, _)| id).collect();
        for sample in self.profile.samples().iter() {
            let at = sample.stack.index();
            let waits = stacks.pop(sample.stack).is_some_and(|(_, frame)| stacks.name(frame) == WAITING);
            let counts = match count {
                SampleFilter::Busy => !waits,
                SampleFilter::Waiting => waits && sample.part == self.main,
                SampleFilter::Main => sample.part == self.main,
            };
            if entered[at] == NONE || left_out[at] || !counts {
                continue;
            }
            let amount = sample.amounts.get(self.value).copied().unwrap_or(0);
            let sums = [
                parts.get_mut(sample.part),
                Some(places.entry(asked[at]).or_default()),
                Some(functions.entry(self.function(frames[entered[at] as usize]).name).or_default()),
            ];
            for sum in sums.into_iter().flatten() {
                *sum = sum.saturating_add(amount);
            }
        }
        let amount = parts.into_iter().max().unwrap_or(0);
        let known = places.into_iter().filter(|(frame, _)| *frame != NONE);
        let places = known.map(|(frame, amount)| self.place(frames[frame as usize], amount)).collect();
        self.sorted(amount, places, functions)
    }

    fn by_calls(&self, meant: &[bool], not: &[bool]) -> FunctionsTotal {
        let mut amount = 0i64;
        let frames: Vec<FrameId> = self.profile.stacks.frames().map(|(id, _)| id).collect();
        let mut places: BTreeMap<FrameId, i64> = BTreeMap::new();
        let mut functions = BTreeMap::<&str, i64>::new();
        for row in self.profile.calls.iter().filter(|row| meant[row.frame.index()]) {
            let outside =
                row.callers.iter().filter(|caller| !meant[caller.frame.index()] && !not[caller.frame.index()]);
            let mut of_row = 0i64;
            for caller in outside {
                of_row = of_row.saturating_add(caller.total_ns.0);
                if let Some(own) = self.own_around(&frames, caller.frame) {
                    let sum = places.entry(own).or_default();
                    *sum = sum.saturating_add(caller.total_ns.0);
                }
            }
            if row.callers.is_empty() {
                of_row = row.total_ns.0;
            }
            amount = amount.saturating_add(of_row);
            let sum = functions.entry(self.function(row.frame).name).or_default();
            *sum = sum.saturating_add(of_row);
        }
        let places = places.into_iter().map(|(frame, amount)| self.place(frame, amount)).collect();
        self.sorted(amount.min(self.whole), places, functions)
    }

    fn sorted(
        &self,
        amount: i64,
        mut places: Vec<FunctionAmount>,
        functions: BTreeMap<&str, i64>,
    ) -> FunctionsTotal {
        places.retain(|place| place.amount > 0);
        places.order_by(|a, b| {
            b.amount.cmp(&a.amount).then_with(|| (&a.file, a.line, &a.name).cmp(&(&b.file, b.line, &b.name)))
        });
        let mut entered: Vec<(String, i64)> =
            functions.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect();
        entered.order_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        FunctionsTotal { amount, share: amount as f64 / self.whole as f64, places, entered, calls: None }
    }

    /// The program's function that called this one most, directly or through others.
    fn own_around(&self, frames: &[FrameId], frame: FrameId) -> Option<FrameId> {
        let mut at = frame;
        for _ in 0..MAX_CALLERS {
            if self.own[at.index()] {
                return Some(at);
            }
            at = *frames.get(self.up[at.index()] as usize)?;
        }
        None
    }

    /// Calls of the functions from others; none if calls were not counted.
    fn calls(&self, meant: &[bool]) -> Option<u64> {
        let rows = || self.profile.calls.iter().filter(|row| meant[row.frame.index()]);
        let known = self.profile.calls.iter().any(|row| row.calls > 0);
        let outside = rows().flat_map(|row| &row.callers).filter(|caller| !meant[caller.frame.index()]);
        known.then(|| outside.map(|caller| caller.calls).fold(0, u64::saturating_add))
    }
}
