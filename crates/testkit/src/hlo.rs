//! Compiled programs made by hand: the `HloProto` messages that profiles of JAX and TensorFlow carry, and a small training run
//! around one.

use stepscope_ground::protobuf::Put;

use crate::xplane::{Event, Plane, Stat, space};

#[derive(Clone, Debug, Default)]
pub struct Instruction<'a> {
    /// Its number, from 1.
    pub id: u64,
    pub name: &'a str,
    pub opcode: &'a str,
    pub dims: &'a [u64],
    pub operands: &'a [u64],
    pub calls: &'a [u64],
    pub path: &'a str,
    /// Its line of `/home/me/train.py`; 0 for none.
    pub line: u64,
    pub parameter: u64,
}

impl Instruction<'_> {
    fn message(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.bytes(1, self.name.as_bytes());
        out.bytes(2, self.opcode.as_bytes());
        let mut shape = Vec::new();
        shape.nonzero(2, 11);
        shape.bytes(3, packed(self.dims));
        out.bytes(3, &shape);
        let mut metadata = Vec::new();
        metadata.bytes(2, self.path.as_bytes());
        if self.line > 0 {
            metadata.bytes(3, b"/home/me/train.py");
            metadata.nonzero(4, self.line);
        }
        out.bytes(7, &metadata);
        out.nonzero(9, self.parameter);
        out.nonzero(35, self.id);
        out.bytes(36, packed(self.operands));
        out.bytes(38, packed(self.calls));
        if self.opcode == "custom-call" {
            out.bytes(28, b"__cublas$gemm");
            let config =
                r#"{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}"#;
            out.bytes(43, config.as_bytes());
        }
        out
    }
}

fn packed(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.iter().for_each(|&value| out.varint(value));
    out
}

/// A computation: its instructions, the last of which is its result.
pub fn computation(name: &str, id: u64, is_fused: bool, list: &[Instruction<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    out.bytes(1, name.as_bytes());
    for instruction in list {
        out.bytes(2, instruction.message());
    }
    out.nonzero(5, id);
    out.nonzero(6, list.last().map_or(0, |last| last.id));
    out.nonzero(7, u64::from(is_fused));
    out
}

pub fn module(name: &str, computations: &[Vec<u8>], schedule: (u64, &[u64])) -> Vec<u8> {
    let mut out = Vec::new();
    out.bytes(1, name.as_bytes());
    for computation in computations {
        out.bytes(3, computation);
    }
    let mut sequence = Vec::new();
    sequence.bytes(1, packed(schedule.1));
    let mut entry = Vec::new();
    entry.nonzero(1, schedule.0);
    entry.bytes(2, &sequence);
    let mut schedules = Vec::new();
    schedules.bytes(1, &entry);
    out.bytes(7, &schedules);
    out
}

/// A buffer of a program: its number, size and instruction, and whether it is an argument or a result.
#[derive(Copy, Clone, Debug)]
pub struct Buffer {
    pub id: u64,
    pub bytes: u64,
    pub instruction: u64,
    pub is_argument: bool,
    pub is_result: bool,
}

/// A buffer assignment: arguments and results have an allocation each, everything else shares one, in which buffers are
/// taken (`true`) and given back at an instruction.
pub fn assignment(buffers: &[Buffer], events: &[(u64, bool, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for buffer in buffers {
        let mut place = Vec::new();
        place.nonzero(4, buffer.instruction);
        let mut message = Vec::new();
        message.nonzero(1, buffer.id);
        message.nonzero(2, buffer.bytes);
        message.bytes(3, &place);
        out.bytes(1, &message);
    }
    let part = |buffer: &Buffer| {
        let mut part = Vec::new();
        part.nonzero(1, buffer.id);
        part.nonzero(3, buffer.bytes);
        part
    };
    let own = |buffer: &&Buffer| buffer.is_argument || buffer.is_result;
    for buffer in buffers.iter().filter(own) {
        let mut message = Vec::new();
        message.nonzero(2, buffer.bytes);
        message.nonzero(5, u64::from(buffer.is_argument));
        message.nonzero(7, u64::from(buffer.is_result));
        message.bytes(9, part(buffer));
        out.bytes(3, &message);
    }
    let shared: Vec<&Buffer> = buffers.iter().filter(|buffer| !own(buffer)).collect();
    let mut message = Vec::new();
    message.nonzero(2, shared.iter().map(|buffer| buffer.bytes).sum());
    for buffer in shared {
        message.bytes(9, part(buffer));
    }
    out.bytes(3, &message);
    let mut simulation = Vec::new();
    for &(buffer, is_taken, at) in events {
        let mut event = Vec::new();
        event.nonzero(1, u64::from(!is_taken));
        event.nonzero(2, buffer);
        event.bytes(4, at.as_bytes());
        simulation.bytes(1, &event);
    }
    simulation.nonzero(2, 1);
    out.bytes(4, &simulation);
    out
}

pub fn program(module: &[u8], assignment: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    out.bytes(1, module);
    if let Some(assignment) = assignment {
        out.bytes(3, assignment);
    }
    out
}

/// Two layers: a matrix product of a library, and what is fused after it.
fn layers() -> Vec<u8> {
    const ROWS: &[u64] = &[512, 1024];
    const SQUARE: &[u64] = &[1024, 1024];
    let fused = |name: &str, id: u64, from: u64| {
        let parameter =
            Instruction { id: from, name: "p.0", opcode: "parameter", dims: ROWS, ..Default::default() };
        let operands = [from];
        let tanh = Instruction {
            id: from + 1,
            name: "tanh.0",
            opcode: "tanh",
            dims: ROWS,
            operands: &operands,
            path: "jit(train_step)/mlp/tanh",
            line: 13,
            ..Default::default()
        };
        let operands = [from + 1, from];
        let product = Instruction {
            id: from + 2,
            name: "multiply.0",
            opcode: "multiply",
            dims: ROWS,
            operands: &operands,
            path: "jit(train_step)/mlp/mul",
            line: 13,
            ..Default::default()
        };
        computation(name, id, true, &[parameter, tanh, product])
    };
    let dot = |id, name, operands| Instruction {
        id,
        name,
        opcode: "custom-call",
        dims: ROWS,
        operands,
        path: "jit(train_step)/mlp/dot_general",
        line: 12,
        ..Default::default()
    };
    let parameter = |id, name, dims, parameter| Instruction {
        id,
        name,
        opcode: "parameter",
        dims,
        parameter,
        path: name,
        ..Default::default()
    };
    let fusion = |id, name, operands, calls| Instruction {
        id,
        name,
        opcode: "fusion",
        dims: ROWS,
        operands,
        calls,
        path: "jit(train_step)/mlp/mul",
        line: 13,
        ..Default::default()
    };
    let main = computation(
        "main",
        9,
        false,
        &[
            parameter(1, "batch", ROWS, 0),
            parameter(2, "weights_0_", SQUARE, 1),
            parameter(3, "weights_1_", SQUARE, 2),
            dot(4, "custom-call.1", &[1, 2]),
            fusion(5, "loop_multiply_fusion", &[4], &[20]),
            dot(6, "custom-call.2", &[5, 3]),
            fusion(7, "loop_multiply_fusion.1", &[6], &[21]),
        ],
    );
    let parts = [fused("fused_multiply", 20, 101), fused("fused_multiply.1", 21, 111), main];
    let module = module("jit_train_step", &parts, (9, &[1, 2, 3, 4, 5, 6, 7]));
    const MIB: u64 = 1 << 20;
    let buffer =
        |id, bytes, instruction| Buffer { id, bytes, instruction, is_argument: false, is_result: false };
    let argument = |id, bytes, instruction| Buffer { is_argument: true, ..buffer(id, bytes, instruction) };
    let buffers = [
        argument(1, 2 * MIB, 1),
        argument(2, 4 * MIB, 2),
        argument(3, 4 * MIB, 3),
        buffer(4, 2 * MIB, 4),
        buffer(5, 2 * MIB, 5),
        buffer(6, 2 * MIB, 6),
        Buffer { is_result: true, ..buffer(7, 2 * MIB, 7) },
    ];
    let events = [
        (4, true, "custom-call.1"),
        (5, true, "loop_multiply_fusion"),
        (4, false, "loop_multiply_fusion"),
        (6, true, "custom-call.2"),
        (5, false, "custom-call.2"),
        (6, false, "loop_multiply_fusion.1"),
    ];
    program(&module, Some(&assignment(&buffers, &events)))
}

/// A profile of three steps of two layers on an H200, whose kernels run in a captured graph and name no instruction: 40 and
/// 60 µs of matrix products, 10 µs of what is fused after each. A copy of 5 µs names none either.
pub fn training() -> Vec<u8> {
    let (mut kernels, mut copies, mut host) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..3u64 {
        let at = 1_000_000 + step * 200_000;
        let work = [
            ("sm90_gemm", 0, 40),
            ("loop_multiply_fusion", 41, 51),
            ("sm90_gemm", 52, 112),
            ("loop_multiply_fusion", 113, 123),
        ];
        for (node, (name, from, to)) in work.into_iter().enumerate() {
            let time = (at + 20_000 + from * 1_000, at + 20_000 + to * 1_000);
            kernels.push(
                Event::new(name, time)
                    .int("correlation_id", step as i64 + 1)
                    .int("cuda_graph_id", 11)
                    .int("cuda_graph_node_id", node as i64 + 1)
                    .text("hlo_op", "command_buffer")
                    .text("hlo_module", "jit_train_step")
                    .int("program_id", 7),
            );
        }
        copies.push(
            Event::new("MemcpyH2D", (at + 2_000, at + 7_000))
                .text("memcpy_details", "kind_src:pinned kind_dst:device size:2097152 dest:0 async:1"),
        );
        host.push(Event::new("train", (at, at + 190_000)).int("_r", 1).int("step_num", step as i64));
        host.push(Event::new("PjitFunction(train_step)", (at + 1_000, at + 18_000)));
        host.push(
            Event::new("cuGraphLaunch", (at + 10_000, at + 16_000))
                .int("correlation_id", step as i64 + 1)
                .int("device_id", 0),
        );
        for (offset, size, total) in [(3_000, 6, 16), (180_000, -6, 10)] {
            let mark = if size > 0 { "MemoryAllocation" } else { "MemoryDeallocation" };
            host.push(
                Event::new(mark, (at + offset, at + offset))
                    .text("allocator_name", "GPU_0_bfc")
                    .int("allocation_bytes", i64::abs(size) << 20)
                    .int("bytes_allocated", total << 20)
                    .int("addr", 4096),
            );
        }
    }
    let device = Plane::new("/device:GPU:0")
        .line(14, "Stream #14(Compute)", 0, &kernels)
        .line(15, "Stream #15(MemcpyH2D)", 0, &copies)
        .stat("device_vendor", Stat::Text("Nvidia".to_owned()))
        .stat("gpu_device_name", Stat::Text("NVIDIA H200".to_owned()))
        .stat("core_count", Stat::Unsigned(132))
        .stat("memory_size", Stat::Unsigned(150_109_880_320))
        .stat("compute_cap_major", Stat::Unsigned(9))
        .stat("compute_cap_minor", Stat::Unsigned(0));
    let host = Plane::new("/host:CPU").line(1, "python3", 0, &host).stat("process_id", Stat::Int(42));
    let metadata = Plane::new("/host:metadata")
        .described("jit_train_step(7)", &[("Hlo Proto", Stat::Bytes(layers())), ("program_id", Stat::Int(7))])
        .stat("jax_version", Stat::Text("0.11.2".to_owned()));
    space([metadata, device, host])
}

/// A program of this many instructions, each of which takes the one before and the first.
pub fn chain(length: u64) -> Vec<u8> {
    let names: Vec<String> = (1..=length).map(|id| format!("add.{id}")).collect();
    let operands: Vec<[u64; 2]> = (1..=length).map(|id| [id.saturating_sub(1).max(1), 1]).collect();
    let list: Vec<Instruction<'_>> = (1..=length)
        .map(|id| Instruction {
            id,
            name: &names[id as usize - 1],
            opcode: if id == 1 { "parameter" } else { "add" },
            dims: &[1024],
            operands: if id == 1 { &[] } else { &operands[id as usize - 1] },
            path: "jit(f)/add",
            line: id % 1000 + 1,
            ..Default::default()
        })
        .collect();
    let order: Vec<u64> = (1..=length).collect();
    let module = module("jit_f", &[computation("main", 1, false, &list)], (1, &order));
    let events: Vec<Event> = (0..3u64)
        .map(|at| {
            Event::new("add.9", (1_000 + at * 100, 1_050 + at * 100))
                .text("hlo_op", "add.9")
                .int("program_id", 1)
        })
        .collect();
    let metadata = Plane::new("/host:metadata").described(
        "jit_f(1)",
        &[("Hlo Proto", Stat::Bytes(program(&module, None))), ("program_id", Stat::Int(1))],
    );
    let host = Plane::new("/host:CPU").line(2, "tf_XLAEigen/2", 0, &events);
    space([metadata, host])
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::training;

    /// The page's tests and types are about this file; `STEPSCOPE_WRITE_FIXTURES=1` writes it anew.
    #[test]
    fn the_fixture_is_what_is_written_here() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/xla/layers.xplane.pb");
        if std::env::var_os("STEPSCOPE_WRITE_FIXTURES").is_some() {
            std::fs::write(&path, training()).unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == training(), "write it anew");
    }
}
