//! Whom a socket is connected to, from the system's tables.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Tables longer than this are read no further.
const MAX_LINES: usize = 100_000;

/// What `socket:[12345]` of a process is connected to, in words; none for other files, and where no table has it.
pub(super) fn peer(pid: u32, link: &str) -> Option<String> {
    let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    ["tcp", "tcp6"].into_iter().find_map(|table| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).ok()?;
        text.lines().skip(1).take(MAX_LINES).find_map(|line| row(line, inode))
    })
}

/// `0: 0100007F:1F90 0100007F:D431 01 … 12345 …`: number, own address, the other's, state, …, inode.
fn row(line: &str, inode: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (own, other) = (words.nth(1)?, words.next()?);
    if words.nth(6)? != inode {
        return None;
    }
    let (own, other) = (address(own)?, address(other)?);
    Some(match other.port() {
        0 => format!("a socket that listens at {own}"),
        _ => format!("a socket to {other}"),
    })
}

/// Addresses are in hexadecimal, each four bytes in the machine's order; ports are not.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Vec<[u8; 4]> = (0..ip.len() / 8)
        .map(|at| u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes))
        .collect::<Option<_>>()?;
    let ip = match words.as_slice() {
        [only] => IpAddr::V4(Ipv4Addr::from(*only)),
        [_, _, _, _] => {
            let all: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(all)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_taken_apart() {
        let line =
            "   0: 0100007F:1F90 0202000A:D431 01 00000000:00000000 00:00000000 00000000  1000 0 12345 1 0";
        assert_eq!(row(line, "12345").as_deref(), Some("a socket to 10.0.2.2:54321"));
        assert_eq!(row(line, "1234"), None);
        let listens =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 7 1 0";
        assert_eq!(row(listens, "7").as_deref(), Some("a socket that listens at 127.0.0.1:8080"));
        let mapped = "0000000000000000FFFF00000100007F:0050";
        assert_eq!(address(mapped).map(|to| to.to_string()).as_deref(), Some("127.0.0.1:80"));
        assert_eq!(address("zz:1"), None);
        assert_eq!(row("nonsense", "1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_of_this_process_is_found() {
        use std::os::fd::AsRawFd;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let socket = std::net::TcpStream::connect(to).unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let found = peer(std::process::id(), &link.to_string_lossy());
        assert_eq!(found, Some(format!("a socket to {to}")));
    }
}
