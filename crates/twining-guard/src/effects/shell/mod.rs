//! What a command line would do, as far as it is plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEffects { pub writes: Vec<ShellWrite>, pub commands: Vec<SimpleCommand>, pub inserted: Vec<String>, pub unread: Vec<String> }
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand { pub words: Vec<String>, pub is_plain: bool, pub cwd: Cwd }
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWrite { pub path: String, pub kind: WriteKind, pub by: String }
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteKind { Create { content: Option<String> }, Append { content: Option<String> }, Edit, Remove, RemoveTree, Copy { from: String }, Move { from: String }, Metadata, Discard }
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cwd { Known(String), Unknown }
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable { TooLong, TooManySteps, NotBash }
pub fn read(_line: &str) -> Result<ShellEffects, Unreadable> { Ok(ShellEffects::default()) }
