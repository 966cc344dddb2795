//! Manifests of a fleet against the types of the Kubernetes API, as the models of its Python
//! client have them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder;
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(
    manifests_are_of_the_types_of_the_api,
    the_manifest_of_top_is_of_the_types_of_the_api,
    a_key_that_is_misspelt_and_a_value_of_another_type_are_found,
);

/// Returns what the check says of a manifest, and whether it is sound.
fn check(manifest: &str) -> Result<(bool, String), Skip> {
    need_programs(&["python3"])?;
    let has_yaml = Command::new("python3").args(["-c", "import yaml"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !has_yaml {
        return Err(Skip("python3 has no module yaml".to_owned()));
    }
    let models = folder("kubernetes")?.join("usr/lib/python3/dist-packages/kubernetes/client/models");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tool/programs/manifest.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(models).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Ok((output.status.success(), String::from_utf8(output.stdout).unwrap()))
}

fn manifest(more: &[&str]) -> String {
    Tool::new().run(&[&["fleet", "manifest"], more].concat()).done().stdout
}

fn manifests_are_of_the_types_of_the_api() -> Result<(), Skip> {
    for more in [&[][..], &["--privileged"], &["--privileged", "--namespace", "lab", "--name", "net", "--image", "registry.example/x:1"]] {
        assert_eq!(check(&manifest(more))?, (true, "2 objects are sound\n".to_owned()));
    }
    Ok(())
}

fn the_manifest_of_top_is_of_the_types_of_the_api() -> Result<(), Skip> {
    let text = include_str!("../../../../packaging/kubernetes/nettoll-top.yaml");
    assert_eq!(check(text)?, (true, "1 objects are sound\n".to_owned()));
    Ok(())
}

fn a_key_that_is_misspelt_and_a_value_of_another_type_are_found() -> Result<(), Skip> {
    for (right, wrong, said) in [
        ("hostNetwork: true", "hostNetwerk: true", "V1PodSpec has no 'hostNetwerk'"),
        ("hostNetwork: true", "hostNetwork: \"yes\"", "'yes' is no bool"),
        ("terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 1s", "'1s' is no int"),
        ("drop: [\"ALL\"]", "drop: ALL", "no list of str"),
        ("clusterIP: None", "clusterIp: None", "V1ServiceSpec has no 'clusterIp'"),
    ] {
        let text = manifest(&["--privileged"]);
        assert!(text.contains(right), "{text}");
        let (sound, words) = check(&text.replace(right, wrong))?;
        assert!(!sound && words.contains(said), "{right} -> {wrong}: {words}");
    }
    Ok(())
}
