// SPDX-License-Identifier: Apache-2.0

//! The smallest program Slipway can ship: it says where it runs, and `--self-test` checks that this is
//! the machine it was built for.

use std::env;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo_hello [--self-test | --version | --help]";

/// The machine's name as `uname -m` prints it; `None` where there is no such command.
fn machine() -> Option<String> {
    let output = Command::new("uname").arg("-m").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn byte_order() -> &'static str {
    if u16::from_ne_bytes([1, 0]) == 1 { "little" } else { "big" }
}

fn check(name: &str, found: &str, needed: &str) -> bool {
    let good = found == needed;
    println!("{name}: {} (found {found}, needed {needed})", if good { "pass" } else { "FAIL" });
    good
}

fn self_test() -> ExitCode {
    let built_for = env::consts::ARCH;
    let found = machine().unwrap_or_else(|| built_for.to_owned());
    let order = if cfg!(target_endian = "little") { "little" } else { "big" };
    let results = [
        check("architecture", &found, built_for),
        check("byte order", byte_order(), order),
        check("pointer width", &usize::BITS.to_string(), "64"),
        check("arithmetic", &(1..=100u32).map(|n| n * n).sum::<u32>().to_string(), "338350"),
    ];
    if results.iter().all(|good| *good) {
        println!("self-test passed");
        ExitCode::SUCCESS
    } else {
        println!("self-test failed");
        ExitCode::FAILURE
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            println!("hello from {} ({} endian)", env::consts::ARCH, byte_order());
            ExitCode::SUCCESS
        }
        ["--self-test"] => self_test(),
        ["--version"] => {
            println!("cargo_hello {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        ["--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("cargo_hello: cannot understand {words:?}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
