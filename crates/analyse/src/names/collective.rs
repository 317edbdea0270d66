//! What a collective does and what its elements are, by the words of whoever recorded it.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Every rank gets the sum of all.
    AllReduce,
    /// Every rank gets what all have.
    AllGather,
    /// Every rank gets a part of the sum.
    ReduceScatter,
    /// Every rank sends a part to each.
    AllToAll,
    /// One sends to all.
    Broadcast,
    /// One gets the sum.
    Reduce,
    /// One rank gets what all have.
    Gather,
    /// One sends each a part.
    Scatter,
    /// One sends to another.
    SendReceive,
    /// All wait for each other.
    Barrier,
    /// Something else, or several together.
    Other,
}

/// By what a name contains once only its letters are left; the first that fits.
const OPERATION_WORDS: &[(&str, Operation)] = &[
    ("allreduce", Operation::AllReduce),
    ("crossdevicereduce", Operation::AllReduce),
    ("quickreduce", Operation::AllReduce),
    ("allgather", Operation::AllGather),
    ("reducescatter", Operation::ReduceScatter),
    ("alltoall", Operation::AllToAll),
    ("broadcast", Operation::Broadcast),
    ("barrier", Operation::Barrier),
    ("sendrecv", Operation::SendReceive),
    ("send", Operation::SendReceive),
    ("recv", Operation::SendReceive),
    ("gather", Operation::Gather),
    ("scatter", Operation::Scatter),
    ("reduce", Operation::Reduce),
];

impl Operation {
    /// What a recorded name (`_allgather_base`), a range (`gloo:all_reduce`) or a kernel
    /// (`ncclDevKernel_AllReduce_Sum_f32_RING_LL`) says.
    pub fn from_name(name: &str) -> Operation {
        // A kernel's parameters and template arguments are not part of what it is called.
        let head = name.split(['<', '(']).find(|part| part.chars().any(char::is_alphanumeric)).unwrap_or(name);
        let head =
            if OPERATION_WORDS.iter().any(|(word, _)| letters(head).contains(word)) { head } else { name };
        let letters = letters(head);
        OPERATION_WORDS
            .iter()
            .find(|(word, _)| letters.contains(word))
            .map_or(Operation::Other, |(_, operation)| *operation)
    }

    pub fn name(self) -> &'static str {
        match self {
            Operation::AllReduce => "all_reduce",
            Operation::AllGather => "all_gather",
            Operation::ReduceScatter => "reduce_scatter",
            Operation::AllToAll => "all_to_all",
            Operation::Broadcast => "broadcast",
            Operation::Reduce => "reduce",
            Operation::Gather => "gather",
            Operation::Scatter => "scatter",
            Operation::SendReceive => "send_receive",
            Operation::Barrier => "barrier",
            Operation::Other => "other",
        }
    }

    /// What each link carries for each byte of the message, among this many ranks: the factors of nccl-tests
    /// (`doc/PERFORMANCE.md`), by which bandwidths of different collectives and sizes of a group can be compared with
    /// that of the links. `None` where nothing is said about it.
    pub fn bus_factor(self, ranks: i64) -> Option<f64> {
        if ranks < 1 {
            return None;
        }
        let n = ranks as f64;
        match self {
            Operation::AllReduce => Some(2.0 * (n - 1.0) / n),
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => Some((n - 1.0) / n),
            Operation::Gather | Operation::Scatter => Some((n - 1.0) / n),
            Operation::Broadcast | Operation::Reduce | Operation::SendReceive => Some(1.0),
            Operation::Barrier | Operation::Other => None,
        }
    }

    /// The elements of the message as nccl-tests counts them: of all ranks' parts together where the parts differ.
    pub fn message_elements(self, input: Option<i64>, output: Option<i64>) -> Option<i64> {
        match self {
            Operation::Barrier => None,
            Operation::AllGather | Operation::Gather => output.or(input),
            _ => input.or(output),
        }
        .filter(|&n| n >= 0)
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

/// Bytes of an element, by PyTorch's name of its type: that of a collective's record (`BFloat16`) or that of an
/// operator's (`c10::BFloat16`, `long int`).
pub fn element_bytes(name: &str) -> Option<i64> {
    let name = name.strip_prefix("c10::").unwrap_or(name).to_ascii_lowercase();
    Some(match name.as_str() {
        "double" | "long" | "long int" | "uint64" | "complexfloat" | "complex<float>" => 8,
        "float" | "int" | "uint32" | "complexhalf" => 4,
        "half" | "bfloat16" | "short" | "short int" | "uint16" => 2,
        "byte" | "char" | "bool" | "signed char" | "unsigned char" => 1,
        "complexdouble" | "complex<double>" => 16,
        _ if name.starts_with("float8") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_recorder() {
        use Operation::*;
        for (name, expected) in [
            ("allreduce", AllReduce),
            ("allreduce_coalesced", AllReduce),
            ("_allgather_base", AllGather),
            ("allgather_into_tensor_coalesced", AllGather),
            ("_reduce_scatter_base", ReduceScatter),
            ("all_to_allv", AllToAll),
            ("alltoall_base", AllToAll),
            ("broadcast", Broadcast),
            ("reduce", Reduce),
            ("send", SendReceive),
            ("gloo:all_reduce", AllReduce),
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ReduceScatter),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", SendReceive),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", AllReduce),
            ("void (anonymous namespace)::multimem_all_gather_kernel<16>(int)", AllGather),
            ("barrier", Barrier),
            ("wait", Other),
            ("", Other),
        ] {
            assert_eq!(Operation::from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn factors_of_nccl_tests() {
        assert_eq!(Operation::AllReduce.bus_factor(8), Some(1.75));
        assert_eq!(Operation::AllGather.bus_factor(8), Some(0.875));
        assert_eq!(Operation::AllReduce.bus_factor(1), Some(0.0));
        assert_eq!(Operation::Broadcast.bus_factor(8), Some(1.0));
        assert_eq!((Operation::Other.bus_factor(8), Operation::AllReduce.bus_factor(0)), (None, None));
        // Eight ranks with 25,136 each: 201,088 arrive everywhere.
        assert_eq!(Operation::AllGather.message_elements(Some(25_136), Some(201_088)), Some(201_088));
        assert_eq!(Operation::ReduceScatter.message_elements(Some(64), Some(8)), Some(64));
        assert_eq!(Operation::AllReduce.message_elements(None, None), None);
        let bytes =
            ["Float", "BFloat16", "c10::Half", "long int", "Float8_e4m3fn", "Opaque"].map(element_bytes);
        assert_eq!(bytes, [Some(4), Some(2), Some(2), Some(8), Some(1), None]);
    }
}
