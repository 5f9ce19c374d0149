//! Guards that are read only where they could speak say what all of them say.

use super::*;

/// A guard of every sort.
const ALL_SORTS: &str = r#"guards:
  - {id: frozen, paths: ["src/legacy/**", "/srv/**"], say: no}
  - {id: deep, paths: ["**/secrets/*.env", "a?c/x"], say: no, action: ask}
  - {id: sets, paths: ["conf/{a,b}.toml", "d[0-9]/**"], say: no}
  - {id: no-push, tools: [Bash], when: {command: [git push, gh release]}, say: no}
  - {id: no-rm-build, tools: [Bash], paths: [build/**], when: {command: rm}, say: no}
  - {id: no-todo, when: {adds: [TODO]}, say: no, action: warn}
  - {id: by-coders, paths: ["src/**"], except: ["src/ok/**"], when: {agent: coder}, say: no}
  - {id: anything, tools: [WebFetch], say: no}
  - {id: proposed, paths: ["**"], status: proposed, say: hm}
  - {id: read-it, tools: [Read], paths: ["Private/*"], say: no, next_step: ask, on_error: warn}
  - {id: protect-twining-state, paths: [vault/**], say: mine}
"#;

fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = bypasses();
    calls.extend(honest());
    calls.extend(nasty::bypasses());
    calls.extend(nasty::honest());
    calls.extend([
        bash("rm -rf build"),
        bash("rm -rf ./build/x && git push -f"),
        bash("/usr/bin/git push"),
        bash("rm src/legacy/a.rs"),
        bash("rm -r src"),
        bash("rm -r /srv"),
        bash("echo > x/y/secrets/k.env"),
        bash("echo > x/$A/k.env"),
        bash("echo > Conf/B.toml; echo > d7/x"),
        bash("python3 -c \"open('src/legacy/x','w')\""),
        bash("("),
        bash(&"(".repeat(1_000)),
        write("SRC/Legacy/x.rs", "x"),
        write("src/new.rs", "TODO"),
        write("abc/x", ""),
        write("vault/x", ""),
        ("Read", json!({"file_path": "private/x"})),
        ("WebFetch", json!({"url": "x"})),
        ("NotebookEdit", json!({"notebook_path": "src/legacy"})),
    ]);
    calls
}

#[test]
fn what_is_read_only_where_it_could_speak_says_the_same() {
    for policy in ["", ALL_SORTS] {
        let all = loaded("", policy);
        assert_eq!(all.mistakes, [], "{policy}");
        let kept = all.to_compiled();
        let held = files();
        for (tool, input) in calls() {
            for agent in [None, Some("coder")] {
                let mut event = Event::of_tool(tool, action(tool, &input), "/p");
                event.agent_type = agent.map(str::to_owned);
                let look = Look::at(&event, "/p", &held);
                let few = Guards::from_compiled_for(&kept, &UserPolicy::default(), &look).expect("reads");
                let facts = Facts { root: "/p", files: &held, evidence: &NoEvidence, claims: &NoClaims };
                let (one, other) = (all.judge(&event, &facts), few.judge_seen(&event, &look, &facts));
                assert_eq!(one.verdict, other.verdict, "{tool} {input}");
                assert!(one.spoken().eq(other.spoken()), "{tool} {input}: {} but {}", one.reason(), other.reason());
            }
        }
    }
}

#[test]
fn of_a_thousand_guards_a_call_reads_those_that_could_speak() {
    let mut policy = "guards:\n".to_owned();
    for at in 0..1_000 {
        policy.push_str(&format!("  - {{id: rule-{at}, paths: ['src/module{at}/**'], say: no}}\n"));
    }
    let all = loaded("", &policy);
    let kept = all.to_compiled();
    let few = |tool: &str, input: &Value| {
        let look = Look::at(&Event::of_tool(tool, action(tool, input), "/p"), "/p", &files());
        let few = Guards::from_compiled_for(&kept, &UserPolicy::default(), &look).expect("reads").guards;
        few.iter().filter(|guard| guard.id.starts_with("rule-")).map(|guard| guard.id.clone()).collect::<Vec<_>>()
    };
    let (tool, input) = write("src/module7/a.rs", "x");
    assert_eq!(few(tool, &input), ["rule-7"]);
    let (tool, input) = bash("git status && cargo test | tail -5 > out/module7.log");
    assert_eq!(few(tool, &input), Vec::<String>::new());
    let (tool, input) = bash("rm -rf src");
    assert_eq!(few(tool, &input).len(), 1_000);
    assert_eq!(Guards::from_compiled(&kept, &UserPolicy::default()).expect("reads").guards.len(), all.guards.len());
}

#[test]
fn what_was_kept_is_read_whole_or_not_at_all() {
    let all = loaded("", ALL_SORTS);
    let kept = all.to_compiled();
    let read = |bytes: &[u8]| Guards::from_compiled(bytes, &UserPolicy::default());
    assert_eq!(read(&kept).expect("reads").to_compiled(), kept, "and written again it is the same");
    // Cut anywhere, or with something after it, it is not believed.
    assert!((0..kept.len()).all(|at| read(&kept[..at]).is_none()));
    assert!(read(&[&kept[..], b"x"].concat()).is_none());
    for at in 0..kept.len() {
        let mut damaged = kept.clone();
        damaged[at] ^= 0xFF;
        // Read or refused; never a panic, and never all of the memory.
        drop(read(&damaged));
    }
}
