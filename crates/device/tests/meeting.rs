//! The barrier at which the blocks of a team meet, as it stands in the text for GPUs, with a thread of
//! this machine for each block: the one part of that text that fibers cannot try.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

use fitzroy_device::gpu::host::HostLibrary;
use fitzroy_device::gpu::text::DEVICE_HEADER;
use std::process::Command;

/// The words of CUDA, for blocks of one thread.
const WORDS: &str = "
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
struct Place { unsigned x; };
static thread_local Place blockIdx, threadIdx;
#define __device__
#define __noinline__ __attribute__((noinline))
#define __global__
#define __syncthreads() ((void)0)
#define __threadfence() std::atomic_thread_fence(std::memory_order_seq_cst)
static unsigned atomicAdd(unsigned *at, unsigned n)
{
    return __atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}
static double __shfl_xor_sync(unsigned, double own, int)
{
    return own;
}
static double __shfl_sync(unsigned, double own, int)
{
    return own;
}
static long long __double_as_longlong(double);
static double __longlong_as_double(long long);
#define TEAM 768
";

/// Two teams of three blocks: each writes a number, meets, and looks at what the others wrote.
const ROUNDS: &str = "
enum { N_TEAMS = 2, N_ROUNDS = 40 };
static int written[N_TEAMS][N_BLOCKS];
static std::atomic<int> wrong{0};
static void rounds(unsigned block)
{
    blockIdx.x = block;
    for (int round = 1; round <= N_ROUNDS; ++round) {
        written[TEAM_INDEX][BLOCK] = round;
        MEETS();
        for (int other = 0; other < N_BLOCKS; ++other)
            wrong += written[TEAM_INDEX][other] != round;
        MEETS();
    }
}
int main()
{
    std::vector<std::thread> blocks;
    for (unsigned b = 0; b < N_TEAMS * N_BLOCKS; ++b)
        blocks.emplace_back(rounds, b);
    for (auto &block : blocks)
        block.join();
    printf(\"%d\\n\", wrong.load());
}
";

/// How often a block saw an old number, where blocks meet by `meets`.
fn wrong(name: &str, meets: &str) -> u32 {
    let folder = std::env::temp_dir().join(format!("fitzroy-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("blocks.cpp"), folder.join("blocks"));
    let text = format!("{WORDS}{DEVICE_HEADER}\n#define MEETS() {meets}\n{ROUNDS}");
    std::fs::write(&source, text).unwrap();
    let made = Command::new("g++")
        .args(["-std=c++17", "-O1", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    let ran = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    String::from_utf8(ran.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Catches: a count that does not flip, or flips early; teams that count each other's blocks. A program
/// whose blocks never meet shows that old numbers would be seen.
#[test]
fn blocks_meet_as_often_as_they_are_told_and_teams_do_not_mix() {
    if !HostLibrary::has_compiler() {
        assert!(std::env::var_os("FITZROY_REQUIRE_GXX").is_none());
        eprintln!("skipped: there is no g++");
        return;
    }
    assert_eq!(wrong("blocks-meet", "SYNC()"), 0);
    assert!(wrong("blocks-part", "((void)0)") > 0);
}
