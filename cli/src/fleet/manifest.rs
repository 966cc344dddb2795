//! What puts a host of a fleet on every node of a Kubernetes cluster.

use crate::args::ManifestArgs;
use crate::exit::Failure;

/// The manifest: a headless Service and a DaemonSet whose pods wait for `kubectl exec`.
///
/// # Errors
/// Names that Kubernetes does not take, or an image that is none.
pub fn text(args: &ManifestArgs) -> Result<String, Failure> {
    for (what, name) in [("--name", &args.name), ("--namespace", &args.namespace)] {
        if !is_label(name) {
            return Err(Failure::misuse(format!(
                "{what} {name}: a name has 1 to 63 small letters, digits and '-', and begins and ends with a letter or digit"
            )));
        }
    }
    if args.image.is_empty() || args.image.starts_with('-') || !args.image.bytes().all(is_of_image) {
        return Err(Failure::misuse(format!("--image {}: write REGISTRY/NAME:TAG or NAME@sha256:DIGEST", args.image)));
    }
    let text = TEMPLATE.replace("@POD@", if args.privileged { OPEN_POD } else { "" });
    let text = text.replace("@SECURITY@", if args.privileged { OPEN } else { RESTRICTED });
    Ok(text.replace("@NAME@", &args.name).replace("@NAMESPACE@", &args.namespace).replace("@IMAGE@", &args.image))
}

/// Returns whether it is a DNS label, as names of Services are.
fn is_label(name: &str) -> bool {
    let ends = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| ends(byte) || *byte == b'-')
        && bytes.first().is_some_and(ends)
        && bytes.last().is_some_and(ends)
}

const fn is_of_image(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/' | b':' | b'@')
}

const TEMPLATE: &str = r#"# kubectl apply -f FILE, then: nettoll fleet --pods app.kubernetes.io/name=@NAME@ --namespace @NAMESPACE@
apiVersion: v1
kind: Service
metadata:
  name: @NAME@
  namespace: @NAMESPACE@
  labels:
    app.kubernetes.io/name: @NAME@
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/name: @NAME@
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: @NAME@
  namespace: @NAMESPACE@
  labels:
    app.kubernetes.io/name: @NAME@
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: @NAME@
  template:
    metadata:
      labels:
        app.kubernetes.io/name: @NAME@
    spec:
@POD@      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 1
      containers:
        - name: host
          image: @IMAGE@
          # It waits; nettoll comes by kubectl exec.
          command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"]
          # As much as it asks for and no more: the pod is of the class Guaranteed, and its CPUs
          # are its own where the kubelet's policy is static.
          resources:
            requests:
              cpu: "2"
              memory: 256Mi
            limits:
              cpu: "2"
              memory: 256Mi
@SECURITY@"#;

/// The network of the node, on every node.
const OPEN_POD: &str = "      # The network of the node: what its processes have.
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      tolerations:
        - operator: Exists
";

/// Profiles and counters, and nothing besides.
const OPEN: &str = "          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop: [\"ALL\"]
              add: [\"PERFMON\", \"BPF\", \"NET_ADMIN\", \"SYSLOG\"]
            seccompProfile:
              type: RuntimeDefault
";

/// What the Pod Security Standard \"restricted\" asks for.
const RESTRICTED: &str = "          securityContext:
            allowPrivilegeEscalation: false
            runAsNonRoot: true
            runAsUser: 65534
            capabilities:
              drop: [\"ALL\"]
            seccompProfile:
              type: RuntimeDefault
";

#[cfg(test)]
mod tests {
    use super::{is_label, text};
    use crate::args::ManifestArgs;

    fn args(privileged: bool) -> ManifestArgs {
        ManifestArgs { privileged, image: "registry.example/tool@sha256:0a".into(), namespace: "lab".into(), name: "net-1".into() }
    }

    #[test]
    fn nothing_of_the_template_is_left() {
        for privileged in [false, true] {
            let text = text(&args(privileged)).unwrap();
            assert!(
                !text.contains("@NAME@") && !text.contains("@POD@") && text.contains("image: registry.example/tool@sha256:0a"),
                "{text}"
            );
            assert_eq!(text.contains("hostNetwork: true"), privileged);
            assert_eq!(text.contains("runAsNonRoot: true"), !privileged);
            assert_eq!(text.contains("add:"), privileged);
        }
    }

    #[test]
    fn no_name_puts_lines_into_it() {
        assert!(is_label("a-1") && !is_label("-a") && !is_label("a\nb") && !is_label("A") && !is_label("") && !is_label(&"a".repeat(64)));
        assert!(text(&ManifestArgs { name: "x\nspec: {}".into(), ..args(true) }).is_err());
        assert!(text(&ManifestArgs { image: "a b".into(), ..args(true) }).is_err());
    }
}
