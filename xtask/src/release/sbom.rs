//! The list of what is in the program, in the form of CycloneDX 1.5.

use super::crates::{Linked, linked};
use super::{Release, Result, line, write};
use serde_json::{Value, json};

/// Writes the list.
pub(super) fn write_list(release: &Release) -> Result<String> {
    let all = linked(release)?;
    let document = document(&release.version, &all);
    let path = release
        .out
        .join(format!("fitzroy-{}.cdx.json", release.version));
    let text = serde_json::to_string_pretty(&document).expect("values are text") + "\n";
    write(&path, text.as_bytes())?;
    let others = all.iter().filter(|c| !c.is_own()).count();
    Ok(line(&path, &format!("SBOM: {others} crates of others")))
}

fn document(version: &str, all: &[Linked]) -> Value {
    let (program, parts): (Vec<_>, Vec<_>) = all.iter().partition(|c| c.name == "fitzroy-cli");
    let components: Vec<Value> = parts.iter().map(|c| component(c, "library")).collect();
    let dependency = |c: &Linked| json!({"ref": c.key(), "dependsOn": c.uses});
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": program.first().map(|c| component(c, "application")),
            "tools": [{"name": "cargo xtask release", "version": version}],
        },
        "components": components,
        "dependencies": all.iter().map(dependency).collect::<Vec<_>>(),
    })
}

fn component(linked: &Linked, kind: &str) -> Value {
    let mut value = json!({
        "type": kind,
        "bom-ref": linked.key(),
        "name": linked.name,
        "version": linked.version,
        "description": linked.description,
        "licenses": [{"expression": linked.license}],
        "purl": linked.key(),
    });
    if let Some(checksum) = &linked.checksum {
        value["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, checksum: Option<&str>, uses: &[&str]) -> Linked {
        Linked {
            name: name.into(),
            version: "1.0.0".into(),
            license: "MIT OR Apache-2.0".into(),
            description: String::new(),
            checksum: checksum.map(Into::into),
            folder: "".into(),
            uses: uses
                .iter()
                .map(|u| format!("pkg:cargo/{u}@1.0.0"))
                .collect(),
        }
    }

    #[test]
    fn the_program_is_the_subject_and_what_it_links_are_the_components() {
        let all = [
            made("fitzroy-cli", None, &["libm"]),
            made("libm", Some("12"), &[]),
        ];
        let document = document("1.0.0", &all);
        assert_eq!(document["metadata"]["component"]["name"], "fitzroy-cli");
        let components = document["components"].as_array().unwrap();
        assert_eq!(components.len(), 1);
        assert_eq!(components[0]["purl"], "pkg:cargo/libm@1.0.0");
        assert_eq!(components[0]["hashes"][0]["content"], "12");
        let first = &document["dependencies"][0];
        assert_eq!(first["dependsOn"][0], components[0]["bom-ref"]);
    }
}
