//! The wheel for Python: built for an old glibc, checked, installed and used.

use super::process::{output, run};
use super::tools::Tools;
use super::tree::THIRD_PARTY;
use super::variant::{Build, GLIBC};
use super::{Release, Result, fresh, line, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a user may do first: a curve whose parameters are known, and the program that comes along.
const TRIAL: &str = "\
import numpy as np, fitzroy as fz
x = np.linspace(0, 4, 200)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(1).normal(size=200)
popt, pcov = fz.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)
assert (abs(popt - [2.5, 1.3, 0.5]) < 5 * np.sqrt(np.diag(pcov))).all(), popt
print(fz.__version__)
";

/// Makes the wheel.
pub(super) fn make(
    release: &Release,
    tools: &Tools,
    build: &Build,
    third_party: &str,
) -> Result<String> {
    let folder = fresh(release.work.join("wheels").join(build.variant.name))?;
    let mut maturin = tools.command("maturin");
    maturin.args(["build", "--release", "--locked"]);
    maturin.args(["--target", build.triple, "--compatibility"]);
    maturin.arg(format!("manylinux_{}", GLIBC.replace('.', "_")));
    maturin.arg("--out").arg(&folder);
    build
        .variant
        .prepare(&mut maturin, release, tools, build.triple)?;
    maturin.current_dir(release.root.join("python"));
    run(maturin)?;
    let wheel = with_licences(release, tools, &only_file(&folder)?, third_party)?;
    let mut check = tools.command("auditwheel");
    check.arg("show").arg(&wheel);
    let said = output(check)?;
    let tag = format!("manylinux_{}", GLIBC.replace('.', "_"));
    if !said.contains(&tag) {
        return Err(format!("auditwheel does not say {tag}:\n{said}"));
    }
    let tried = match build.runs_here() {
        true => used(release, &wheel)?,
        false => "not tried: another processor".into(),
    };
    Ok(line(&wheel, &format!("auditwheel: {tag}; {tried}")))
}

/// Adds the licences, ours and of the crates that are linked, and puts the wheel with the other artefacts.
fn with_licences(
    release: &Release,
    tools: &Tools,
    wheel: &Path,
    third_party: &str,
) -> Result<PathBuf> {
    let folder = fresh(release.work.join("wheel"))?;
    let mut unpack = tools.command("wheel");
    unpack.arg("unpack").arg(wheel).arg("--dest").arg(&folder);
    run(unpack)?;
    let unpacked = folder.join(format!("fitzroy-{}", release.version));
    let facts = unpacked.join(format!("fitzroy-{}.dist-info", release.version));
    let licences = fresh(facts.join("licenses"))?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"] {
        let copied = std::fs::copy(release.root.join(name), licences.join(name));
        copied.map_err(|e| format!("{name}: {e}"))?;
    }
    write(&licences.join(THIRD_PARTY), third_party.as_bytes())?;
    let packed = fresh(release.work.join("packed"))?;
    let mut pack = tools.command("wheel");
    pack.arg("pack").arg(&unpacked);
    pack.arg("--dest-dir").arg(&packed);
    pack.env("SOURCE_DATE_EPOCH", &release.epoch);
    run(pack)?;
    // Its tags may stand in another order than maturin's.
    let made = only_file(&packed)?;
    let to = release
        .out
        .join(made.file_name().expect("a wheel has a name"));
    std::fs::copy(&made, &to).map_err(|e| format!("{}: {e}", to.display()))?;
    Ok(to)
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.next().ok_or("maturin made no wheel".into())
}

/// Installs the wheel in a new environment, fits a curve and asks the program for its version.
fn used(release: &Release, wheel: &Path) -> Result<String> {
    let folder = release.work.join("venv");
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&folder);
    run(create)?;
    let program = |name: &str| Command::new(folder.join("bin").join(name));
    let mut install = program("pip");
    install
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .arg(wheel);
    run(install)?;
    let mut trial = program("python");
    trial.args(["-c", TRIAL]);
    let mut version = program("fitzroy");
    version.arg("--version");
    let said = (output(trial)?, output(version)?);
    match (
        said.0.trim() == release.version,
        said.1.trim().ends_with(&release.version),
    ) {
        (true, true) => Ok("installed, fitted a curve".into()),
        _ => Err(format!("the wheel has another version: {said:?}")),
    }
}
