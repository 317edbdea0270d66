use super::*;

fn shell(script: &str) -> Bare {
    Bare::new(["sh", "-c", script].map(OsString::from).to_vec())
}

#[test]
fn without_marks_only_the_whole_time_is_known() {
    let began = Instant::now();
    let timed = shell("sleep 0.05; echo hi").once().unwrap();
    let most = began.elapsed().as_nanos() as f64;
    assert_eq!((timed.steps_from, timed.profiled), (StepsFrom::Nowhere, false));
    let wall = timed.repeat.values["wall_time"][0];
    assert!((50e6..=most).contains(&wall), "{wall} of {most}");
    assert!(!timed.repeat.values.contains_key("step_time"));
}

#[test]
fn a_programs_own_marks_are_its_steps() {
    let script = "printf 'rank -\\n0\\n10\\n30\\n60\\n' > \"$STEPSCOPE_STEP_TIMES/steps-$$\"; echo step 99 ms";
    let mut bare = shell(script);
    bare.expression = Some(Regex::new(r"step (?P<ms>\d+) ms").unwrap());
    let timed = bare.once().unwrap();
    assert_eq!(timed.steps_from, StepsFrom::Program);
    assert_eq!(timed.repeat.values["step_time"], [20.0, 30.0]);
}

#[test]
fn lines_of_the_output_are_steps_without_the_first_ones() {
    let mut bare = shell("for i in 9 8 3 4 5; do echo step $i ms; done; echo done >&2");
    bare.expression = Some(Regex::new(r"step (?P<ms>\d+) ms").unwrap());
    let timed = bare.once().unwrap();
    assert_eq!(timed.steps_from, StepsFrom::Output);
    assert_eq!(timed.repeat.values["step_time"], [3e6, 4e6, 5e6]);
}

#[test]
fn what_fails_says_how_and_shows_its_last_words() {
    let failed = shell("echo first; echo last >&2; exit 3").once().unwrap_err();
    let BareError::Failed(error) = failed else { panic!("{failed:?}") };
    assert!(error.what.contains("exit code 3") && error.what.contains("| last"), "{error:?}");
    let missing = Bare::new(vec![OsString::from("no-such-program-here")]).once();
    assert!(matches!(missing, Err(BareError::Start(_))));
    assert!(matches!(Bare::new(Vec::new()).once(), Err(BareError::Start(_))));
}

#[test]
fn a_program_that_takes_too_long_is_ended_and_nobody_waits_for_what_it_started() {
    let folder = std::env::temp_dir().join(format!("stepscope-bare-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("pid");
    let script = format!("echo began; sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", path.display());
    // A busy machine may need longer to get that far.
    let timed_out = |limit_ms: u64| {
        let _ = std::fs::remove_file(&path);
        let mut slow = shell(&script);
        slow.timeout = Some(Duration::from_millis(limit_ms));
        let Err(BareError::TimedOut(error)) = slow.once() else { panic!("it did not time out") };
        let pid = std::fs::read_to_string(&path).ok()?.trim().to_owned();
        error.what.contains("| began").then_some(pid)
    };
    let pid = [200, 1_000, 5_000, 60_000].into_iter().find_map(timed_out).unwrap();
    // The shell is ended; the sleep it started keeps the pipe open, and nothing waits for that.
    let ended = std::process::Command::new("kill").arg(&pid).status().unwrap();
    assert!(ended.success(), "it was waited for");
    std::fs::remove_dir_all(&folder).unwrap();
}
