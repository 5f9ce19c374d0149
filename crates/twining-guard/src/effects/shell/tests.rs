use super::interpreter::*;
use super::program_text::code_writes;
use twining_testcases::each;

/// A line and what it writes: `> file`, `>> file`, `edit file`, `rm file`, `rm -r folder`,
/// `a -> b` for a copy, `a => b` for a move, `discard folder`; `? …` for each
/// line of `unread`. Known content follows a `:`.
pub(super) const LINES: &[(&str, &str)] = &[
    // Redirections.
    ("echo a > x", "> x: a\\n"),
    ("echo -n a > x", "> x: a"),
    ("echo a >> 'x y'", ">> x y: a\\n"),
    ("echo a >| x", "> x: a\\n"),
    ("make &> x", "> x"),
    ("make &>> x", ">> x"),
    ("make 2> x", "> x"),
    ("make > out 2>&1", "> out"),
    ("make >& x", "> x"),
    ("cargo test 2>&1 | tail -5", ""),
    ("make > /dev/null 2>&1", ""),
    ("> x", "> x: "),
    (": > x", "> x: "),
    ("{ echo a; echo b; } > x", "> x: a\\nb\\n"),
    ("{ cd d; echo a; } > x", "> x: a\\n"),
    ("if true; then echo > x; fi", "> x: \\n"),
    ("f() { echo > x; }; f", "> x: \\n"),
    ("echo $(echo b > x)", "> x: b\\n"),
    ("jq -S . a.json > b.json", "> b.json"),
    ("sort < a > b", "> b"),
    ("diff <(sort a) <(sort b) > c", "> c"),
    ("make | tee >(grep x)", ""),
    ("git diff > /tmp/x.diff", "> /tmp/x.diff"),
    ("echo hi >> ~/.bashrc", ">> ~/.bashrc: hi\\n"),
    ("exec > log.txt", "> log.txt"),
    ("[[ a > b ]] && echo c > d", "> d: c\\n"),
    ("(( a > 3 )) && echo c > d", "> d: c\\n"),
    ("echo $((1 > 0)) > d", "> d"),
    // Here-documents.
    ("cat > x <<'EOF'\n{\"a\": $b}\nEOF\n", "> x: {\"a\": $b}\\n"),
    ("cat <<EOF > x\na $HOME\nEOF", "> x"),
    ("A=1\ncat <<EOF > x\na $A\nEOF", "> x: a 1\\n"),
    ("cat >> x <<-EOF\n\ta\n\tEOF\necho b > y", ">> x: a\\n | > y: b\\n"),
    ("cat <<A <<B > x\n1\nA\n2\nB\necho c > y", "> x: 2\\n | > y: c\\n"),
    ("git commit -m \"$(cat <<'EOF'\nIt's > done\nEOF\n)\" && echo a > x", "> x: a\\n"),
    ("cat <<'EOF' | tee x > /dev/null\na\nEOF", "> x: a\\n"),
    ("tee x <<< hello", "> x: hello\\n"),
    ("python3 - <<'EOF'\nprint(1 > 0)\nEOF", ""),
    ("cat <<EOF > x # why\na\nEOF\nrm b", "> x: a\\n | rm b"),
    ("cat > x <<EOF # why\na\nEOF\nrm b", "> x: a\\n | rm b"),
    // Quotes and variables.
    ("echo > fea\"ture\"-'list'.json", "> feature-list.json: \\n"),
    ("echo > fea\\ture", "> feature: \\n"),
    ("F=a.json; echo > $F", "> a.json: \\n"),
    ("D=a F=$D/b; rm \"$D/${F}\"", "rm a/a/b"),
    ("FILES='a.txt b.txt'; rm $FILES", "? the file named by `$FILES`"),
    ("export OUT=dist/x.js && cp a.js $OUT", "a.js -> dist/x.js"),
    ("F=a cp x.txt $F", "? the file named by `$F`"),
    ("echo a > $TARGET", "? the file named by `$TARGET`"),
    ("echo a > \"$(date).log\"", "? the file named by `$(…).log`"),
    ("echo a > ${OUT:-x}", "? the file named by `${OUT…}`"),
    ("echo a > $PWD/x", "> x: a\\n"),
    ("cd d && echo a > $PWD/x", "> d/x: a\\n"),
    ("echo a > \"$(pwd)/x\"", "> x: a\\n"),
    ("rm \"$(git rev-parse --show-toplevel)/x\"", "rm x"),
    ("echo a > $HOME/x", "> ~/x: a\\n"),
    (
        "T=$(mktemp); jq . a.json > $T && mv $T a.json",
        "> /tmp/mktemp | /tmp/mktemp => a.json | rm -r /tmp/mktemp",
    ),
    ("echo a > /tmp/x.$$", ""),
    ("X=a; X=$(uname); rm $X", "? the file named by `$(…)`"),
    ("X=$(echo a); rm $X", "rm a"),
    ("rm \"${X#\"${Y}\"}\"", "? the file named by `${X…}`"),
    ("IFS=$'\\n'; rm $'a b'", "rm a b"),
    ("X=`echo a`; rm $X", "rm a"),
    ("read X; rm $X", "? the file named by `$X`"),
    ("if a; then X=1; else X=2; fi; rm $X", "? the file named by `$X`"),
    ("A=(a b); rm \"${A[@]}\"", "? the file named by `${A…}`"),
    // Patterns.
    ("rm .twining/*.jsonl", "rm .twining/*.jsonl"),
    ("rm -f .twining/{a,b}.jsonl", "rm .twining/*.jsonl"),
    ("rm *.log", "? the files named by `*.log`"),
    ("cp src/*.json .twining/", "> .twining/*.json"),
    ("mkdir -p src/{a,b} && rm src/a/x", "rm src/a/x"),
    // Where the line is.
    ("cd a && rm b", "rm a/b"),
    ("cd a; rm ../b ./c", "rm b | rm a/c"),
    ("(cd a && rm b); rm c", "rm a/b | rm c"),
    ("cd a || exit 1\nrm b", "rm a/b"),
    ("cd a || { echo no > log; exit 1; }; rm b", "> log: no\\n | rm a/b"),
    ("pushd a; rm b; popd; rm c", "rm a/b | rm c"),
    ("cd a && cd - && rm b", "rm b"),
    ("cd a | cat; rm b", "rm b"),
    ("cd $X && rm b", "? the path `b` after `cd $X`"),
    ("cd $X && rm /a/b", "rm /a/b"),
    ("if [ -d a ]; then cd a; fi; rm b", "? the path `b` after `cd`"),
    ("if [ -d a ]; then cd a; rm c; else rm d; fi", "rm a/c | rm d"),
    ("cd /srv/app && rm b", "rm /srv/app/b"),
    ("cd \"$(git rev-parse --show-toplevel)\" && rm b", "rm b"),
    ("for d in a b; do (cd $d && rm x); done", "rm a/x | rm b/x"),
    ("for d in */; do (cd $d && rm x); done", "? the path `x` after `cd $d`"),
    // Loops and branches.
    ("for f in a.txt b.txt; do sed -i s/x/y/ $f; done", "edit a.txt | edit b.txt"),
    ("for f in $(git ls-files); do rm $f; done", "? the file named by `$f`"),
    ("for f in src/*.ts; do echo x > $f; done", "? the file named by `$f`"),
    ("for ((i=0; i<3; i++)); do echo $i > x; done", "> x"),
    ("while read -r f; do rm \"$f\"; done < list", "? the file named by `$f`"),
    ("until curl -s h; do sleep 1; done; rm a", "rm a"),
    ("case $1 in a|b) rm x;; (*) rm y ;; esac", "rm x | rm y"),
    ("! grep -q a b && rm c", "rm c"),
    ("time rm a", "rm a"),
    ("# rm a\nrm b # rm c", "rm b"),
    ("rm a \\\n  b", "rm a | rm b"),
    // Copies and moves.
    ("cp a.txt b.txt", "a.txt -> b.txt"),
    ("cp a.txt d/", "a.txt -> d/a.txt"),
    ("cp a.txt .", "a.txt -> a.txt"),
    ("cp ../a.txt .twining", "../a.txt -> .twining | ../a.txt -> .twining/a.txt"),
    ("cp .env.example .env", ".env.example -> .env"),
    ("cp a.txt b.txt d", "a.txt -> d/a.txt | b.txt -> d/b.txt"),
    ("cp -t d a.txt", "a.txt -> d/a.txt"),
    ("cp -r template/. .", ""),
    ("cp -r /tmp/backup/.twining .", "/tmp/backup/.twining -> .twining"),
    ("cp /tmp/j $f", "? the file named by `$f`"),
    ("mv a.txt b.txt", "a.txt => b.txt | rm a.txt"),
    ("mv .twining .twining.bak", ".twining => .twining.bak | rm -r .twining"),
    ("install -m 644 a.conf /etc/a.conf", "a.conf -> /etc/a.conf"),
    ("install -d dist", ""),
    ("ln -sf ../a.json b.json", "> b.json"),
    ("rsync -a dist/ host:/srv/", ""),
    // Removal.
    ("rm -rf dist", "rm -r dist"),
    ("rm -- -x", "rm -x"),
    ("sudo rm -fr a/", "rm -r a"),
    ("unlink a", "rm a"),
    ("truncate -s 0 a.log", "edit a.log"),
    // Editors and filters.
    ("echo a | tee x y", "> x: a\\n | > y: a\\n"),
    ("echo a | sudo tee -a x > /dev/null", ">> x: a\\n"),
    ("printf '%s\\n' a b | sponge x", "> x: a\\nb\\n"),
    ("printf 'a\\tb %s-%s\\n' 3 4 > x", "> x: a\tb 3-4\\n"),
    ("printf '%d%%\\n' 3 > x", "> x"),
    ("jq .a x.json | sponge x.json", "> x.json"),
    ("sed -i 's/a/b/' x", "edit x"),
    ("sed -i '' 's/a/b/' x", "edit x"),
    ("sed -i.bak -e 's/a/b/' x y", "edit x | edit y"),
    ("sed --in-place=.b -E 's/a/b/' x", "edit x"),
    ("sed 's/a/b/' x", ""),
    ("perl -pi -e 's/a/b/' x", "edit x"),
    ("perl -i.bak -pe 's/a/b/' x y", "edit x | edit y"),
    ("yq -i '.a = 1' x.yml", "edit x.yml"),
    ("yq eval -i '.a = 1' x.yml", "edit x.yml"),
    ("yq '.a' x.yml", ""),
    ("patch -p1 < a.diff", "? the files changed by `patch`"),
    ("git apply a.diff", "? the files of `git apply`"),
    ("ed x <<< '1d'", "? the files changed by `ed`"),
    ("tar xzf a.tgz", ""),
    ("tar czf a.tgz -C vendor .", ""),
    // Git.
    ("git rm a", "rm a"),
    ("git rm -r d", "rm -r d"),
    ("git rm --cached a", ""),
    ("git mv a.c b.c", "a.c => b.c | rm a.c"),
    ("git -C sub rm a", "rm sub/a"),
    ("git checkout -- a .twining/x", "discard .twining/x"),
    ("git checkout HEAD~1 -- a b", ""),
    ("git checkout .", "discard ."),
    ("git checkout main", ""),
    ("git checkout -b feature/x.y", ""),
    ("git checkout feature/login", ""),
    ("cd d && git checkout .", "discard d"),
    ("git checkout --theirs .", ""),
    ("git restore .", "discard ."),
    ("git restore --staged a", ""),
    ("git restore -s HEAD~2 .twining", "discard .twining"),
    ("git reset --hard", "discard ."),
    ("git reset --hard origin/main", "discard ."),
    ("git reset HEAD a", ""),
    ("git clean -fd", "discard ."),
    ("git clean -fdx build", ""),
    ("git clean -nd", ""),
    ("git clean -fd -e .twining", ""),
    ("git stash -u", "discard ."),
    ("git stash push -m wip -- a", ""),
    ("git stash && git pull --rebase && git stash pop", ""),
    ("git stash list", ""),
    ("git add -A && git commit -m 'x > y' && git push", ""),
    ("git pull && git rebase main && git switch x && git cherry-pick y", ""),
    // Programs that run programs.
    ("bash -c 'echo a > x'", "> x: a\\n"),
    ("bash -lc \"cd d && rm x\"; rm y", "rm d/x | rm y"),
    ("sh -c \"bash -c 'rm x'\"", "? the command run by `bash`"),
    ("bash -c \"rm $X\"", "? the command run by `bash`"),
    ("bash <<'EOF'\nrm x\nEOF", "rm x"),
    ("echo 'rm x' | sh", "rm x"),
    ("curl -sSf https://sh.rustup.rs | sh", ""),
    ("bash ./x.sh", ""),
    ("./x.sh > log", "> log"),
    ("eval 'cd d'; rm x", "rm d/x"),
    ("eval \"$(ssh-agent)\"", "? `eval`"),
    ("env A=1 B=2 rm a", "rm a"),
    ("nohup nice -n 5 timeout -k 1 10 rm a", "rm a"),
    ("command -v rm", ""),
    ("ls | xargs rm -f", "? the file named by `$(xargs)`"),
    (
        "ls | xargs -I{} mv {} d/",
        "? the file named by `d/$(xargs)` | ? the file named by `$(xargs)`",
    ),
    ("grep -rl a | xargs sed -i s/a/b/", "? the file named by `$(xargs)`"),
    ("find d -delete", "rm -r d"),
    ("find . -name '*.pyc' -delete", "? the files that `find` removes"),
    ("find d -type f -exec rm {} +", "rm -r d"),
    ("find . -name '*.ts' -exec grep x {} \\;", ""),
    ("npx prettier --write . && make -C d all", ""),
    // Inline code.
    ("python3 -c \"open('x', 'w').write('y')\"", "edit x"),
    ("python3 -c \"print(open('x').read())\"", ""),
    ("python3 <<'EOF'\nimport os\nos.remove('x')\nEOF", "rm x"),
    ("node -e \"require('fs').writeFileSync('x', '')\"", "edit x"),
    ("cd d && python3 -c \"open('x','a')\"", "edit d/x"),
    // Honest lines that were once refused.
    ("rsync -a --exclude .git --exclude .twining ../template/ ./", ""),
    (
        "python3 - <<EOF\nimport os\nfor root, dirs, files in os.walk('.'):\n    dirs[:] = [d for d in dirs if d not in ('.git', '.twining')]\n    for f in files:\n        if f.endswith('.py'):\n            p = os.path.join(root, f)\n            s = open(p).read()\n            open(p, 'w').write(s)\nEOF",
        "",
    ),
    (
        "python3 - <<'EOF'\nwith open('.dockerignore', 'a') as f:\n    f.write('.twining/local\\n')\nEOF",
        "edit .dockerignore",
    ),
    ("chown -R 1000:1000 .", ""),
    ("chown -R root:root .", ""),
    ("sudo chown -R $(whoami) .", ""),
    ("setfacl -R -m u:dev:rwX .", ""),
    ("git checkout --ours . && git add -A", ""),
    ("git rm --cached -r .twining/local", ""),
    ("rm -f .twining/local/index.db", "rm .twining/local/index.db"),
    ("git config core.hooksPath .husky", ""),
    (
        "for f in $(git ls-files '*.json'); do jq -S . $f > /tmp/j && cp /tmp/j $f; done",
        "> /tmp/j | ? the file named by `$f`",
    ),
    (
        "jq '.features += [{\"id\":\"D\",\"tested\":false}]' L > t && mv t L",
        "> t | t => L | t => L/t | rm -r t",
    ),
    ("curl -d '{\"text\":\"please run: twining guard accept\"}' https://hooks.slack.com/x", ""),
    ("notify-send Twining \"please run twining guard accept\"", ""),
    ("tmux send-keys -t 1 'remember: twining guard accept' Enter", ""),
    ("python3 -c \"print('twining trust shows the commands')\"", ""),
    ("node -e \"console.log('twining 0.2: guard bypass lasts a day')\"", ""),
    ("git fetch && git checkout pr && git rebase main", ""),
    ("git merge --squash origin/pr && git commit -m 'PR 7'", ""),
];

fn shown(effects: &ShellEffects) -> String {
    let content = |content: &Option<String>| {
        content.as_ref().map(|text| format!(": {}", text.replace('\n', "\\n"))).unwrap_or_default()
    };
    let writes = effects.writes.iter().map(|ShellWrite { path, kind, .. }| match kind {
        WriteKind::Create { content: text } => format!("> {path}{}", content(text)),
        WriteKind::Append { content: text } => format!(">> {path}{}", content(text)),
        WriteKind::Edit => format!("edit {path}"),
        WriteKind::Remove => format!("rm {path}"),
        WriteKind::RemoveTree => format!("rm -r {path}"),
        WriteKind::Copy { from } => format!("{from} -> {path}"),
        WriteKind::Move { from } => format!("{from} => {path}"),
        WriteKind::Discard => format!("discard {path}"),
    });
    let unread = effects.unread.iter().map(|what| format!("? {what}"));
    writes.chain(unread).collect::<Vec<_>>().join(" | ")
}

#[test]
fn each_line_writes_what_the_table_says() {
    let wrong: Vec<String> = LINES
        .iter()
        .map(|(line, expected)| {
            (
                line,
                expected,
                read(line).map_or_else(|error| error.to_string(), |effects| shown(&effects)),
            )
        })
        .filter(|(_, expected, found)| *expected != found)
        .map(|(line, expected, found)| {
            format!("{line}\n    expected: {expected}\n    found:    {found}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} lines\n{}", wrong.len(), LINES.len(), wrong.join("\n"));
}

fn commands(line: &str) -> Vec<String> {
    simple_commands(line).iter().map(|words| words.join(" ")).collect()
}

#[test]
fn every_command_of_a_line_is_listed() {
    assert_eq!(
        commands("cargo test 2>&1 | tail -5 && [ -f x ] || echo $?"),
        ["cargo test", "tail -5", "[ -f x ]", "echo $?"]
    );
    assert_eq!(commands("FOO=1 BAR=2 pytest -q; echo done &"), ["pytest -q", "echo done"]);
    assert_eq!(
        commands("echo \"$(git log --oneline | head -1)\""),
        ["git log --oneline", "head -1", "echo $(…)"]
    );
    assert_eq!(commands("if ! make; then exit 1; fi"), ["make", "exit 1"]);
    assert_eq!(commands("for t in unit e2e; do npm run $t; done"), ["npm run unit", "npm run e2e"]);
}

#[test]
fn a_command_is_listed_without_what_runs_it() {
    assert_eq!(commands("sudo -u ci env A=1 timeout 60 nice -n 5 pytest"), ["pytest"]);
    assert_eq!(commands("ls | xargs -n1 wc -l"), ["ls", "wc -l $(xargs)"]);
    assert_eq!(
        commands("bash -lc 'cd api && go test ./...'"),
        ["bash -lc cd api && go test ./...", "cd api", "go test ./..."]
    );
    assert_eq!(commands("npx jest --ci"), ["npx jest --ci"]);
}

#[test]
fn a_command_knows_its_folder() {
    let touched = |line: &str| shown(&read(line).expect("reads"));
    assert_eq!(touched("cd a && (cd b; rm x) && rm y"), "rm a/b/x | rm a/y");
    assert_eq!(touched("cd $X; rm x; cd /srv; rm y"), "rm /srv/y | ? the path `x` after `cd $X`");
}

#[test]
fn words_of_an_unreadable_line_are_none() {
    assert_eq!(
        simple_commands("git -C x status; ls"),
        [vec!["git", "-C", "x", "status"], vec!["ls"]]
    );
    assert_eq!(simple_commands("echo 'a"), Vec::<Vec<String>>::new());
}

#[test]
fn code_writes_what_its_literals_name() {
    let rows: &[(&str, &[&str])] = &[
        ("open('a', 'w')", &["a"]),
        ("open(r\"a\", mode='ab')", &["a"]),
        ("open('a')", &[]),
        ("open(f'a{i}', 'w')", &[]),
        ("io.open('a','r+')", &["a"]),
        ("Path('a').write_text('b')", &["a"]),
        ("pathlib.Path(\"a\").unlink()", &["a"]),
        ("Path('a').read_text()", &[]),
        ("shutil.rmtree('a')", &["a"]),
        ("names.remove('.twining')", &[]),
        ("text.replace('a', 'b')", &[]),
        ("fs.appendFileSync('a', 'b')", &["a"]),
        ("await fs.promises.writeFile(\"a\", x)", &["a"]),
        ("fs.writeFileSync(`a${i}`, 'b')", &[]),
        ("fs.rmSync('a', {recursive: true})", &["a"]),
        ("# don't open('a', 'w') twice: open('b', 'w')", &["a", "b"]),
        ("if d in ('.git', '.twining'): continue", &[]),
    ];
    each(rows, |(code, paths)| {
        let written: Vec<&str> = code_writes(code).into_iter().map(|(path, _)| path).collect();
        assert_eq!(written, *paths, "{code}");
    });
}
