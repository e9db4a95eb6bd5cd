//! Draws as CmdStan writes them: one CSV file per chain, settings in comments.
//!
//! Format: CmdStan User's Guide, "Stan CSV File Format".

use super::netcdf::translate_statistics;
use super::{Attribute, Column, Group, Trace, Variable};
use crate::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The comment after which draws of the warm-up, if they were saved, have ended.
const WARMED_UP: &str = "# Adaptation terminated";

/// One file.
struct Chain {
    columns: Vec<String>,
    /// Row by draw.
    rows: Vec<f64>,
}

impl Chain {
    fn n_draws(&self) -> usize {
        self.rows.len() / self.columns.len()
    }
}

/// Reads CSV files of CmdStan, a chain each, in the order given.
///
/// Columns `theta.1`, `theta.2`, .. become elements of `theta`; those that end in `__` become the
/// sampler's statistics under our names. Draws of the warm-up are left out.
///
/// # Errors
/// `Io` when a file cannot be read; `Data`, naming file and line, when one is no such file, is cut
/// short, or differs from the others in its columns or its number of draws.
pub fn read_cmdstan(paths: &[PathBuf]) -> Result<Trace> {
    let chains: Result<Vec<Chain>> = paths
        .iter()
        .map(|path| read(path).map_err(|error| error.context(path.display())))
        .collect();
    let chains = chains?;
    let Some(first) = chains.first() else {
        return Err(data("no files were given".into()));
    };
    for (chain, path) in chains.iter().zip(paths) {
        if chain.columns != first.columns {
            let message =
                "its columns differ from those of the first file; chains of one run agree";
            return Err(data(message.into()).context(path.display()));
        }
        if chain.n_draws() != first.n_draws() {
            let (n, wanted) = (chain.n_draws(), first.n_draws());
            let message =
                format!("it has {n} draws and the first file {wanted}; it may have been cut short");
            return Err(data(message).context(path.display()));
        }
    }
    let mut posterior = group("posterior");
    let mut statistics = group("sample_stats");
    let mut at = 0;
    while at < first.columns.len() {
        let (name, n, shape, order) = variable(&first.columns[at..]);
        let values = values(&chains, at, &order);
        let dims = (0..shape.len()).map(|k| format!("{name}_dim_{k}"));
        let variable = Variable {
            dims: ["chain".into(), "draw".into()]
                .into_iter()
                .chain(dims)
                .collect(),
            shape: [chains.len(), first.n_draws()]
                .into_iter()
                .chain(shape)
                .collect(),
            values: Column::Real(values),
            name,
        };
        match variable.name.ends_with("__") {
            true => statistics.variables.push(variable),
            false => posterior.variables.push(variable),
        }
        at += n;
    }
    if posterior.variables.is_empty() {
        return Err(data("the files hold no parameters".into()));
    }
    translate_statistics(&mut statistics.variables);
    Ok(Trace {
        groups: vec![posterior, statistics],
        ..Trace::default()
    })
}

fn data(message: String) -> Error {
    Error::new(ErrorKind::Data, message)
}

fn group(name: &str) -> Group {
    Group {
        name: name.into(),
        variables: Vec::new(),
        attributes: vec![("inference_library".into(), Attribute::Text("stan".into()))],
    }
}

fn read(path: &Path) -> Result<Chain> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::new(ErrorKind::Io, crate::data::io_message(&error)))?;
    let last = text.lines().last().unwrap_or_default();
    if !text.ends_with('\n') && !last.starts_with('#') {
        return Err(data("it ends within a line; it was cut short".into()));
    }
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with(WARMED_UP) {
            rows.clear();
        }
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if columns.is_empty() {
            columns = line.split(',').map(|c| c.trim().to_string()).collect();
            if columns
                .iter()
                .any(|c| c.is_empty() || c.parse::<f64>().is_ok())
            {
                let message = format!("line {number}: a header with names was expected");
                return Err(data(message));
            }
            continue;
        }
        let before = rows.len();
        for cell in line.split(',') {
            let value = cell.trim().parse::<f64>();
            rows.push(value.map_err(|_| data(format!("line {number}: `{cell}` is no number")))?);
        }
        let n = rows.len() - before;
        if n != columns.len() {
            return Err(data(format!(
                "line {number} has {n} numbers, the header {} names; the file may be cut short",
                columns.len()
            )));
        }
    }
    match columns.is_empty() {
        true => Err(data("the file holds no draws".into())),
        false => Ok(Chain { columns, rows }),
    }
}

/// The variable that begins at the first of `columns`: its name, how many columns it has, its
/// shape, and for each element, last index fastest, its column.
fn variable(columns: &[String]) -> (String, usize, Vec<usize>, Vec<usize>) {
    let split = |column: &str| -> Option<(String, Vec<usize>)> {
        let (name, rest) = column.split_once('.')?;
        let index: Option<Vec<usize>> = rest
            .split('.')
            .map(|i| i.parse::<usize>().ok().filter(|&i| i > 0))
            .collect();
        Some((name.to_string(), index?))
    };
    let alone = || (columns[0].clone(), 1, Vec::new(), vec![0]);
    let Some((name, first)) = split(&columns[0]) else {
        return alone();
    };
    let own = columns
        .iter()
        .map_while(|c| split(c).filter(|(n, i)| *n == name && i.len() == first.len()));
    let own: Vec<Vec<usize>> = own.map(|(_, index)| index).collect();
    let axes = 0..first.len();
    let shape: Vec<usize> = axes
        .map(|a| own.iter().map(|i| i[a]).max().unwrap_or(0))
        .collect();
    let flat = |index: &Vec<usize>| index.iter().zip(&shape).fold(0, |f, (i, n)| f * n + i - 1);
    // Stan writes the first index fastest.
    let mut order = vec![usize::MAX; own.len()];
    for (column, index) in own.iter().enumerate() {
        match order.get_mut(flat(index)) {
            Some(place) => *place = column,
            None => return alone(),
        }
    }
    match order.contains(&usize::MAX) {
        true => alone(), // Elements are missing: no array.
        false => (name, own.len(), shape, order),
    }
}

fn values(chains: &[Chain], at: usize, order: &[usize]) -> Vec<f64> {
    let mut out = Vec::new();
    for chain in chains {
        for row in chain.rows.chunks_exact(chain.columns.len()) {
            out.extend(order.iter().map(|column| row[at + column]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a file of CmdStan 2.3x, shortened.
    fn file(rows: &str) -> String {
        format!(
            "# stan_version_major = 2\n# model = eight_schools_model\n# method = sample (Default)\n\
             lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,\
             omega.1.1,omega.2.1,omega.1.2,omega.2.2,omega.1.3,omega.2.3\n\
             -9,0.1,0.2,3,7,0,12,99,1,2,3,4,5,6\n\
             # Adaptation terminated\n# Step size = 0.4\n# Diagonal elements of inverse mass matrix:\n\
             # 1, 1\n{rows}# \n#  Elapsed Time: 0.02 seconds (Warm-up)\n"
        )
    }

    fn written(name: &str, texts: &[String]) -> (PathBuf, Vec<PathBuf>) {
        let folder =
            std::env::temp_dir().join(format!("fitzroy-stan-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("writable");
        let paths = (1..=texts.len()).map(|k| folder.join(format!("out-{k}.csv")));
        let paths: Vec<PathBuf> = paths.collect();
        for (path, text) in paths.iter().zip(texts) {
            fs::write(path, text).expect("writable");
        }
        (folder, paths)
    }

    const ROWS: &str = "-7.5,0.9,0.4,2,3,0,10,4.5,11,21,12,22,13,23\n\
                        -8,1,0.4,2,3,1,11,3.5,11,21,12,22,13,23\n";

    #[test]
    fn matrices_statistics_and_chains_come_to_their_places_and_the_warm_up_stays_out() {
        let (folder, paths) = written("good", &[file(ROWS), file(ROWS)]);
        let trace = read_cmdstan(&paths).expect("two good files");
        let posterior = trace.group("posterior").expect("there");
        let omega = posterior.variable("omega").expect("there");
        assert_eq!(omega.shape, [2, 2, 2, 3]);
        let Column::Real(values) = &omega.values else {
            panic!("reals");
        };
        assert_eq!(values[..6], [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
        assert_eq!(
            posterior.variable("mu").map(|v| v.element(0)[1].clone()),
            Some(vec![4.5, 3.5])
        );
        let statistics = trace.group("sample_stats").expect("there");
        let flags = Column::Flag(vec![false, true, false, true]);
        assert_eq!(
            statistics.variable("diverging").map(|v| &v.values),
            Some(&flags)
        );
        let depths = Column::Integer(vec![2; 4]);
        assert_eq!(
            statistics.variable("tree_depth").map(|v| &v.values),
            Some(&depths)
        );
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn damaged_files_are_refused_with_file_and_line() {
        let cut = file(&format!("{}\n", &ROWS[..60]));
        for (name, second, part) in [
            ("cut", cut, "line 11"),
            ("word", file(&ROWS.replace("4.5", "four")), "`four`"),
            (
                "short",
                file(ROWS)
                    .split_inclusive('\n')
                    .filter(|l| !l.starts_with("-8"))
                    .collect(),
                "cut short",
            ),
            (
                "columns",
                file(ROWS).replace("mu,", "nu,"),
                "columns differ",
            ),
            ("empty", "# nothing\n".into(), "no draws"),
            (
                "within",
                file(ROWS)[..file(ROWS).len() - 60].to_string(),
                "within a line",
            ),
            ("numbers", "1,2,3\n".into(), "header"),
        ] {
            let (folder, paths) = written(name, &[file(ROWS), second]);
            let text = read_cmdstan(&paths).expect_err(name).to_string();
            assert!(
                text.contains("out-2.csv") && text.contains(part),
                "{name}: {text}"
            );
            fs::remove_dir_all(folder).expect("ours");
        }
    }
}
