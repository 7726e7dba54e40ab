//! What Prony promises, by connections.

/// Bounds of one comparison; `None`: nothing is promised.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Goals {
    /// Least ratio of throughput.
    pub(crate) throughput_min: Option<f64>,
    /// Greatest ratio of CPU time for each query.
    pub(crate) cpu_max: Option<f64>,
    /// Most memory, MB.
    pub(crate) memory_mb_max: Option<f64>,
}

/// Against sysbench, on the null server.
pub(crate) fn null_server(connections: u32) -> Goals {
    let (throughput, cpu, memory) = match connections {
        8 => (1.8, 0.5, None),
        64 => (2.0, 0.42, None),
        512 => (2.7, 0.27, None),
        2048 => (3.5, 0.15, Some(25.0)),
        _ => return Goals::default(),
    };
    Goals { throughput_min: Some(throughput), cpu_max: Some(cpu), memory_mb_max: memory }
}

/// Lua scripts against sysbench with the same script, on the null server.
pub(crate) fn scripts(connections: u32) -> Goals {
    let (throughput, memory) = match connections {
        1..=64 => (1.0, None),
        512 => (1.5, None),
        2048 | 4096 => (1.5, Some(f64::from(connections) * 0.25 + 16.0)),
        _ => return Goals::default(),
    };
    Goals { throughput_min: Some(throughput), memory_mb_max: memory, ..Goals::default() }
}

/// Against the raw client, which is the measure of the engine itself.
pub(crate) fn raw(_: u32) -> Goals {
    Goals { throughput_min: Some(0.95), ..Goals::default() }
}

/// Several processes that share a load, with as many threads in all, against one.
pub(crate) fn split(_: u32) -> Goals {
    Goals { throughput_min: Some(0.97), cpu_max: Some(1.03), ..Goals::default() }
}

/// Many connections against a few. Of throughput nothing is promised: the kernel's sockets no longer fit into
/// caches, which the raw client pays for as well, and against that one there is a goal.
pub(crate) fn scale(connections: u32) -> Goals {
    let memory_mb_max = (connections >= 10_000).then_some(80.0);
    Goals { memory_mb_max, ..Goals::default() }
}

/// Against sysbench, on a real server.
pub(crate) fn real_server(connections: u32) -> Goals {
    let throughput = match connections {
        1..=16 => 0.97,
        64 => 1.2,
        256 => 1.15,
        1024 | 4096 => 1.5,
        _ => return Goals::default(),
    };
    Goals { throughput_min: Some(throughput), ..Goals::default() }
}

/// Where nothing is promised.
pub(crate) fn none(_: u32) -> Goals {
    Goals::default()
}

/// Loading tables against go-tpc.
pub(crate) fn loading(_: u32) -> Goals {
    Goals { throughput_min: Some(1.0), ..Goals::default() }
}
