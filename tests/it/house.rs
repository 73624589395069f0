//! The structure of the library: which file imports what, how large files are, and how they wrap.
//!
//! Imports go down. A file imports another if it names an item that is *defined* there, whatever
//! module passes it on; so a folder may pass on what its files define without being part of a ring.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file at most.
const MOST_LINES: usize = 800;

/// Columns of a comment or of a line of a document at most.
const MOST_COLUMNS: usize = 100;

type Module = Vec<String>;

/// The files of the library by their modules.
struct House {
    files: BTreeMap<Module, String>,
    /// For each module the names that it passes on, and where they come from.
    passed_on: BTreeMap<Module, BTreeMap<String, (Module, Vec<String>)>>,
}

/// All files below a directory with this extension, but those that builds leave there.
fn collect(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        match path.is_dir() {
            true if name == "target" || name.starts_with('.') => {}
            true => collect(&path, extension, found),
            false if path.extension().is_some_and(|other| other == extension) => found.push(path),
            false => {}
        }
    }
}

fn source_files() -> (PathBuf, Vec<PathBuf>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, "rs", &mut paths);
    (root, paths)
}

/// The text without comments, and without items that only tests have.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut rest = lines.collect::<Vec<_>>().join("\n");
    let mut code = String::new();
    while let Some(at) = rest.find("#[cfg(test)]") {
        code.push_str(&rest[..at]);
        let mut depth = 0;
        let end = rest[at..].char_indices().find(|&(_, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (c == ';' || c == '}') && depth == 0
        });
        rest = end.map_or(String::new(), |(end, _)| rest[at + end + 1..].to_string());
    }
    code + &rest
}

/// The paths of a tree of imports.
fn paths_of(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, inner)) = tree.split_once('{').filter(|_| tree.ends_with('}')) else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.trim().to_string()];
    };
    let inner = &inner[..inner.len() - 1];
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| paths_of(&format!("{before}{}", part.trim()))).collect()
}

impl House {
    fn read() -> Self {
        let (root, paths) = source_files();
        let mut files = BTreeMap::new();
        for path in paths {
            let relative = path.strip_prefix(&root).unwrap().with_extension("");
            let parts = relative.iter().map(|part| part.to_str().unwrap().to_string());
            let mut module: Module = parts.collect();
            match module.last().map(String::as_str) {
                Some("mod" | "lib") => drop(module.pop()),
                // Only tests have these.
                Some("tests" | "crash" | "vectors") => continue,
                _ => {}
            }
            files.insert(module, code(&fs::read_to_string(path).unwrap()));
        }
        let mut house = Self { files, passed_on: BTreeMap::new() };
        for (module, text) in &house.files {
            let mut names = BTreeMap::new();
            for (tree, is_public) in uses(text) {
                for path in paths_of(&tree).into_iter().filter(|_| is_public) {
                    let segments: Vec<String> = path.split("::").map(str::to_string).collect();
                    if let Some(from) = house.absolute(module, &segments) {
                        names.insert(segments.last().unwrap().clone(), from);
                    }
                }
            }
            house.passed_on.insert(module.clone(), names);
        }
        house
    }

    /// A path from the root of the library; `None` if it leads out of it.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<(Module, Vec<String>)> {
        let mut base = module.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => return Some((Vec::new(), rest[1..].to_vec())),
            "self" => return Some((base, rest[1..].to_vec())),
            "super" => {}
            first => {
                let child = [&base[..], &[first.to_string()]].concat();
                return self.files.contains_key(&child).then(|| (base, rest.to_vec()));
            }
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            base.pop();
            rest = &rest[1..];
        }
        Some((base, rest.to_vec()))
    }

    /// The file that defines what a path names.
    fn definer(&self, (base, rest): (Module, Vec<String>), depth: usize) -> Option<Module> {
        let (mut at, mut rest) = (base, &rest[..]);
        while let Some((first, behind)) = rest.split_first() {
            let child = [&at[..], std::slice::from_ref(first)].concat();
            if !self.files.contains_key(&child) {
                break;
            }
            (at, rest) = (child, behind);
        }
        let passed_on = rest.first().and_then(|name| self.passed_on.get(&at)?.get(name));
        match passed_on.filter(|_| depth < 8) {
            Some(from) => self.definer(from.clone(), depth + 1),
            None => self.files.contains_key(&at).then_some(at),
        }
    }

    /// For each file those that it imports.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of_file = |(module, text): (_, &String)| {
            let trees = uses(text).into_iter().filter(|(_, is_public)| !is_public);
            let mut paths: Vec<String> = trees.flat_map(|(tree, _)| paths_of(&tree)).collect();
            paths.extend(inline_paths(text));
            let defined = paths.iter().filter_map(|path| {
                let segments: Vec<String> = path.split("::").map(str::to_string).collect();
                self.definer(self.absolute(module, &segments)?, 0)
            });
            (module, defined.filter(|other| other != module).collect())
        };
        self.files.iter().map(of_file).collect()
    }
}

/// All trees of imports, and whether they are passed on.
fn uses(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        let line = text[..at].rsplit(['\n', ';', '}']).next().unwrap_or_default().trim();
        if (line.is_empty() || line.starts_with("pub")) && !line.contains(['=', '"']) {
            let tree = text[at + 4..].split(';').next().unwrap_or_default();
            found.push((tree.split_whitespace().collect::<Vec<_>>().join(" "), !line.is_empty()));
        }
    }
    found
}

/// Paths that stand in the code itself.
fn inline_paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].trim_end();
            let is_part =
                text[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_');
            if is_part || before.ends_with("use") || before.ends_with("(in") {
                continue;
            }
            let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != ':' && c != '_');
            let path = &text[at..at + end.unwrap_or(text.len() - at)];
            found.push(path.trim_end_matches(':').to_string());
        }
    }
    found
}

/// A ring of imports, if there is one.
fn ring(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    // What imports nothing that is left is in no ring, and is left out.
    let mut left: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.iter().map(|(&module, others)| (module, others.iter().collect())).collect();
    loop {
        let free: Vec<&Module> = left
            .iter()
            .filter(|(_, others)| others.is_empty())
            .map(|(&module, _)| module)
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module, _| !free.contains(module));
        left.values_mut().for_each(|others| others.retain(|other| !free.contains(other)));
    }
    // From any one that is left the way leads on, and back at last.
    let (mut at, mut way) = (*left.keys().next()?, Vec::new());
    while !way.contains(at) {
        way.push(at.clone());
        at = left[at].first()?;
    }
    let start = way.iter().position(|module| module == at)?;
    Some(way.split_off(start))
}

#[test]
fn no_file_of_the_library_imports_in_a_ring() {
    let house = House::read();
    let imports = house.imports();
    let edges: usize = imports.values().map(BTreeSet::len).sum();
    assert!(imports.len() > 80 && edges > 300, "{} files, {edges} imports", imports.len());
    let names = |ring: Vec<Module>| ring.iter().map(|m| m.join("/")).collect::<Vec<_>>();
    assert_eq!(ring(&imports).map(names), None);
}

#[test]
fn a_ring_is_found_behind_what_a_folder_passes_on() {
    let file = |module: &str, text: &str| {
        let module = module.split('/').filter(|part| !part.is_empty()).map(str::to_string);
        (module.collect::<Module>(), code(text))
    };
    let files = [
        file("", "mod a; mod b;"),
        file(
            "a",
            "mod one;\nmod two;\npub use one::One;\n#[cfg(test)]\nmod tests { use crate::b::B; }",
        ),
        file("a/one", "// use crate::b::B;\nuse super::two::{Two, three};\npub struct One;"),
        file("a/two", "pub struct Two(crate::b::B);"),
        file("b", "use crate::a::One;\npub struct B(One);"),
    ];
    let mut house = House { files: files.into_iter().collect(), passed_on: BTreeMap::new() };
    let one = (vec!["a".to_string()], vec!["one".to_string(), "One".to_string()]);
    let names = BTreeMap::from([("One".to_string(), one)]);
    house.passed_on.insert(vec!["a".to_string()], names);
    let found = ring(&house.imports()).unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    // Without the import that closes it there is none.
    house.files.insert(vec!["b".to_string()], "pub struct B;".to_string());
    assert_eq!(ring(&house.imports()), None);
}

#[test]
fn what_folders_import_is_what_the_design_says() {
    let house = House::read();
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, others) in house.imports() {
        let Some(folder) = module.first() else { continue };
        let of_folder = folders.entry(folder.clone()).or_default();
        let others = others.iter().filter_map(|other| other.first());
        of_folder.extend(others.filter(|other| *other != folder).cloned());
    }
    let row = |(folder, others): (&String, &BTreeSet<String>)| {
        let others: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
        (folder.clone(), others.join(", "))
    };
    let expected: Vec<(String, String)> = folders.iter().map(row).collect();
    let design = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/DESIGN.md");
    let text = fs::read_to_string(design).unwrap();
    let (_, table) = text.split_once("<!-- imports -->\n").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let said: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert!(cells.len() == 5 && !cells[2].is_empty(), "{row}: says what the folder is");
            (cells[1].trim_matches('`').to_string(), cells[3].to_string())
        })
        .collect();
    for (said, expected) in said.iter().zip(&expected) {
        assert_eq!(said, expected, "the table of src/DESIGN.md");
    }
    assert_eq!(said.len(), expected.len());
}

#[test]
fn what_predicts_a_time_stands_among_the_costs() {
    let (root, paths) = source_files();
    let mut constants = 0;
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let is_time = |line: &&str| line.contains("const ") && line.contains("_NS: ");
        let found: Vec<&str> = text.lines().filter(is_time).collect();
        assert!(found.is_empty(), "{name}: {found:?}; put it into src/costs/groups.rs");
        constants += if name == "costs/groups.rs" { text.matches("_ns = ").count() } else { 0 };
    }
    assert!(constants > 30, "{constants}");
}

#[test]
fn no_file_of_the_library_is_too_long_to_read() {
    let (root, paths) = source_files();
    for path in paths {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let name = path.strip_prefix(&root).unwrap().display();
        assert!(lines <= MOST_LINES, "{name} has {lines} lines");
    }
}

/// The lines of a text in Rust that are comments, without rows of tables.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_row = |line: &str| line.trim_start_matches(['/', '!', ' ']).starts_with('|');
    let lines = (1..).zip(text.lines());
    lines.filter(move |(_, line)| line.trim_start().starts_with("//") && !is_row(line))
}

/// The lines of a document that are prose: no rows of tables, code or drawings.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code && !line.starts_with('|') && !line.starts_with("    ")
    })
}

#[test]
fn comments_and_documents_wrap() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut code, mut documents, mut wide) = (Vec::new(), Vec::new(), Vec::new());
    collect(root, "rs", &mut code);
    collect(root, "md", &mut documents);
    let mut see = |path: &Path, line: usize, text: &str| {
        if text.chars().count() > MOST_COLUMNS {
            wide.push(format!("{}:{line}", path.strip_prefix(root).unwrap().display()));
        }
    };
    for path in &code {
        let text = fs::read_to_string(path).unwrap();
        comments(&text).for_each(|(line, text)| see(path, line, text));
    }
    for path in &documents {
        // The lists of vectors are written by tests.
        if path.starts_with(root.join("format-spec/vectors")) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        prose(&text).for_each(|(line, text)| see(path, line, text));
    }
    assert!(code.len() > 100 && !documents.is_empty());
    assert!(wide.is_empty(), "more than {MOST_COLUMNS} columns:\n{}", wide.join("\n"));
}
