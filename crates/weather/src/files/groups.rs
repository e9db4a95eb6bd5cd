//! Files with groups: in which of them the fields lie.

use super::source::Source;
use fitzroy::{Error, Result};

/// The group of the fields: the top where it has arrays of numbers over two axes or more, else the
/// only group with some that lies nearest to the top.
///
/// # Errors
/// There are several such groups.
pub(super) fn group_of_fields(source: &Source) -> Result<String> {
    let mut found: Vec<String> = Vec::new();
    for path in source.paths() {
        let array = source.at(&path)?;
        let (group, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let field = array.numeric() && array.shape().len() > 1 && !name.ends_with("bnds");
        if field && !found.iter().any(|known| known == group) {
            found.push(group.to_string());
        }
    }
    let depth = |group: &str| match group {
        "" => 0,
        group => 1 + group.matches('/').count(),
    };
    let nearest = found.iter().map(|group| depth(group)).min();
    found.retain(|group| Some(depth(group)) == nearest);
    match &found[..] {
        [] => Ok(String::new()),
        [group] => Ok(group.clone()),
        several => Err(Error::data(format!(
            "its arrays lie in the groups {}; make a file of one of them, as with Python \
             xarray.open_dataset(\"OLD\", group=\"{}\").to_netcdf(\"NEW.nc\")",
            several.join(", "),
            several[0]
        ))),
    }
}
