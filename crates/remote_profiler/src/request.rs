//! What is asked of a profiler server.

use stepscope_ground::protobuf::{Message, Put};

use crate::target::Target;

/// How much each tracer records, as `ProfileOptions` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracers {
    /// Of the host: 0 nothing, 1 the program's own marks, 2 also expensive operators, 3 everything.
    pub host: u32,
    /// Of devices: 0 nothing, 1 all work.
    pub device: u32,
    /// Of Python: 0 nothing, 1 every call, which costs time.
    pub python: u32,
}

impl Default for Tracers {
    fn default() -> Tracers {
        Tracers { host: 2, device: 1, python: 0 }
    }
}

/// One request of `Profile` or `StartContinuousProfiling`.
#[derive(Clone, Debug)]
pub(crate) struct ProfileRequest<'a> {
    pub(crate) target: &'a Target,
    pub(crate) tracers: Tracers,
    pub(crate) duration_ms: u64,
    /// When to begin, in nanoseconds since 1970; 0 for at once.
    pub(crate) start_ns: u64,
    pub(crate) session: &'a str,
    /// Where a server writes that cannot send.
    pub(crate) repository: &'a str,
}

/// What other clients ask for at most; servers of today have their own limit.
const MAX_EVENTS: u64 = 1_000_000;
/// Options of a newer version would be read by newer rules.
const OPTIONS_VERSION: u64 = 1;

impl ProfileRequest<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut options = Message::new();
        options.number(1, 1); // operators of tf.data
        options.nonzero(2, self.tracers.host.into());
        options.nonzero(3, self.tracers.device.into());
        options.nonzero(4, self.tracers.python.into());
        options.number(5, OPTIONS_VERSION);
        options.number(7, 1); // the programs of XLA, which say what an operator computes
        options.nonzero(8, self.start_ns);
        // The one that counts: servers ignore the duration of the request itself.
        options.nonzero(9, self.duration_ms);
        options.nonempty(14, self.session);
        let mut request = Message::new();
        request.nonzero(1, self.duration_ms);
        request.number(2, MAX_EVENTS);
        request.bytes(4, options);
        request.nonempty(5, self.repository);
        request.nonempty(6, self.session);
        request.nonempty(7, &self.target.file_stem());
        request.number(9, 1); // send the profile in the answer
        request
    }
}

/// The request of `Terminate`, `GetSnapshot` and `StopContinuousProfiling`: a session, or nothing.
pub(crate) fn of_session(session: &str) -> Vec<u8> {
    let mut request = Message::new();
    request.nonempty(1, session);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_fields_that_servers_read() {
        let target = Target { host: "h".to_owned(), port: 9 };
        let tracers = Tracers { host: 2, device: 1, python: 0 };
        let request = ProfileRequest {
            target: &target,
            tracers,
            duration_ms: 300,
            start_ns: 1,
            session: "s",
            repository: "r",
        };
        // Worked out by hand: tag, then value; 300 is ac 02, a million is c0 84 3d.
        let options = b"\x08\x01\x10\x02\x18\x01\x28\x01\x38\x01\x40\x01\x48\xac\x02\x72\x01s";
        let mut expected = b"\x08\xac\x02\x10\xc0\x84\x3d\x22".to_vec();
        expected.push(options.len() as u8);
        expected.extend_from_slice(options);
        expected.extend_from_slice(b"\x2a\x01r\x32\x01s\x3a\x03h_9\x48\x01");
        assert_eq!(request.encode(), expected);
        assert_eq!(of_session("ab"), b"\x0a\x02ab");
    }
}
