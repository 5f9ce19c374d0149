//! Code on a command line: what only reads a protected file, or only speaks of it, is
//! nobody's business; what could write it is refused.

use super::*;

const FEATURES: &str = ".twining/features.json";

/// Those that are answered otherwise, whichever list they are about.
fn others(lines: &[&str], level: Level) -> Vec<String> {
    let all = lines.iter().flat_map(|line| [FEATURES, LIST].map(|list| line.replace("LIST", list)));
    all.filter(|line| verdict("Bash", &json!({ "command": line })) != level).collect()
}

#[test]
fn code_that_reads_a_list_and_writes_elsewhere_is_let_through() {
    let lines = [
        r#"ruby -e 'puts File.read("LIST")'"#,
        r#"ruby -rjson -e 'puts JSON.parse(File.read("LIST"))["features"].size'"#,
        r#"ruby -e 'File.foreach("LIST"){|l| puts l}'"#,
        r#"ruby -rjson -e 'fs = JSON.parse(File.read("LIST")); File.write("docs/x.md", fs.size.to_s)'"#,
        r#"perl -e 'open(F,"<","LIST"); print <F>'"#,
        r#"perl -e 'open(my $f, "<", "LIST") or die; while(<$f>){print}'"#,
        r#"perl -e 'open(my $f, "<", "LIST"); open(my $o, ">", "docs/x"); print $o $_ while <$f>;'"#,
        r#"awk 'BEGIN{while((getline l < "LIST")>0) print l}'"#,
        r#"awk '{print > "/elsewhere/out.txt"}' LIST"#,
        r#"awk '/"id"/ {n++} END{if (n > 3) print n > "out.txt"}' LIST"#,
        r#"node -p "require('./LIST').features.map(f=>f.id).join()""#,
        r#"node -e "const d=require('./LIST'); require('fs').writeFileSync('/elsewhere/out.json', JSON.stringify(d))""#,
        "node - <<'P'\nconst fs=require('fs');\nconst d=JSON.parse(fs.readFileSync('LIST'));\nfs.writeFileSync('docs/features.md', d.features.map(f=>`- ${f.id}`).join('\\n'));\nP",
        r#"python3 -c "import json; d=json.load(open('LIST')); json.dump(d, open('/elsewhere/o.json','w'))""#,
        r#"python3 -c "import shutil; shutil.copy('LIST','/elsewhere/x.json')""#,
        r#"python3 -c "open('docs/x.md','w').write('see LIST')""#,
        r#"python3 -c "import os; print(os.path.getsize('LIST')); os.remove('/elsewhere/zz')""#,
        r#"python3 -c "from pathlib import Path; Path('docs/x.md').write_text(Path('LIST').read_text())""#,
        "python3 - <<'P'\nimport json\nfs=json.load(open('LIST'))['features']\nwith open('docs/features.md','w') as out:\n    for f in fs: out.write(f\"- {f['id']}: {f['description']}\\n\")\nP",
        "python3 - <<'P'\n# update README, does not touch LIST\np='README.md'\ns=open(p).read().replace('hi','ho')\nopen(p,'w').write(s)\nP",
        "python3 - <<'P'\n# not LIST\nimport requests\nrequests.get('x')\nopen('a','w').write('b')\nP",
        "python3 - <<'P'\nimport json, collections\nc=collections.Counter(f['status'] for f in json.load(open('LIST'))['features'])\nprint(c)\ns='x'.replace('x','y')\nP",
    ];
    assert_eq!(others(&lines, Level::Off), Vec::<String>::new());
}

#[test]
fn code_that_could_write_a_list_is_refused() {
    let lines = [
        r#"ruby -e 'File.write("LIST", "x")'"#,
        r#"ruby -e 'File.write "LIST", "x"'"#,
        r#"ruby -e 'File.open("LIST", "w") {|f| f.puts 1}'"#,
        r#"ruby -e 'f = "LIST"; File.open(f, "w").puts 1'"#,
        r#"ruby -e 'File.delete("LIST")'"#,
        r#"ruby -e 'puts File.read("LIST"); `rm LIST`'"#,
        r##"ruby -e 'puts "#{File.delete("LIST")}"'"##,
        r#"perl -e 'open(F,">","LIST"); print F 1'"#,
        r#"perl -e 'open(F,">LIST"); print F 1'"#,
        r#"perl -e 'open(my $f, "+<", "LIST"); print $f 1'"#,
        r#"perl -e '$x = "LIST"; open(F, ">", $x); print F 1'"#,
        r#"perl -e 'open(F,"<","LIST"); unlink "LIST"'"#,
        r#"perl -MFile::Copy -e 'copy("a", "LIST")'"#,
        r#"awk 'BEGIN{print "x" > "LIST"}'"#,
        r#"awk 'BEGIN{f="LIST"; print "x" > f}'"#,
        r#"awk 'BEGIN{print "x" | "tee LIST"}'"#,
        r#"awk -v f=LIST 'BEGIN{print "x" > f}'"#,
        r#"node -e "require('fs').writeFileSync('LIST','x')""#,
        r#"node -e "const fs=require('fs'); const p='LIST'; fs.writeFileSync(p,'x')""#,
        r#"node -e "const {writeFileSync: w}=require('fs'); w('LIST','x')""#,
        r#"node -e "const fs=require('fs'); fs['write'+'FileSync']('LIST','x')""#,
        r#"node -e "const x=require('fs'); x.copyFileSync('a','LIST')""#,
        r#"node -e "require('fs').renameSync('LIST','docs/x')""#,
        r#"node -e "require('child_process').execSync('rm LIST')""#,
        r#"node -e "for (const p of ['LIST']) require('fs').writeFileSync(p,'x')""#,
        r#"python3 -c "p='README.md'
for p in ['LIST']: open(p,'w')""#,
        r#"python3 -c "import sys; open(sys.argv[1],'w')" LIST"#,
        r#"python3 -c "m='w'; open('LIST', m)""#,
        r#"python3 -c "open(file='LIST', mode='w')""#,
        r#"python3 -c "o=open; o('LIST','w')""#,
        r#"python3 -c "from os import remove as r; r('LIST')""#,
        r#"python3 -c "import shutil; shutil.copy('a','LIST')""#,
        r#"python3 -c "import shutil; shutil.move('LIST','docs/x')""#,
        r#"python3 -c "list(map(__import__('os').remove, ['LIST']))""#,
        r#"python3 -c "from pathlib import Path; p=Path('LIST'); p.write_text('x')""#,
        r#"python3 -c "from pathlib import Path; (Path('x')/'LIST').write_text('x')""#,
        r#"python3 -c "def f(p): open(p,'w').write('x')
p='a.md'
f('LIST')""#,
        r#"python3 -c "p='a.md'; p='LIST'; open(p,'w')""#,
        r#"python3 -c "p, q = 'a', 'LIST'; open(q,'w')""#,
        r#"python3 -c "print(open('LIST').read()); exec('x')""#,
        "F=LIST; python3 - <<P\nopen('$F','w').write('x')\nP",
        "python3 -c \"open('LIST','w').write('# x')\"",
        "echo \"open('LIST','w').write('x')\" | python3",
        "echo \"open('LIST','w').write('x')\" | python3 -",
    ];
    assert_eq!(others(&lines, Level::Block), Vec::<String>::new());
}
