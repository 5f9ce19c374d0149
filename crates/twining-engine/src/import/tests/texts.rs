//! Files as other tools write them.

pub(super) const NYGARD: &str = "# 1. Use REST

Date: 2020-03-01

## Status

Superseded by [2. Use gRPC](0002-use-grpc.md)

## Context

Clients differ.

## Decision

We will use REST for everything.

## Consequences

Everybody knows it.

## Notes

See the wiki.
";

pub(super) const NYGARD_2: &str = "# ADR-0002: Use gRPC between services

Date: 2021-04-05

## Status

Accepted

## Context

REST was slow.

## Decision

gRPC it is.
";

pub(super) const MADR: &str = "---
status: proposed
date: 2024-05-06
decision-makers: Ada, Bob
---
# Choose a database

## Context and Problem Statement

We need one.

## Decision Drivers

* must run on our own machines
* transactions

## Considered Options

* PostgreSQL
* [MongoDB](#mongodb)
* SQLite

## Decision Outcome

Chosen option: \"PostgreSQL\", because it does it all.

### Consequences

* Bad, because it takes more memory

## Pros and Cons of the Options

### MongoDB

* Good, because no schema
* Bad, because no joins
";

/// `LONG` stands for an observation longer than a property may be.
pub(super) const MEMORY: &str = concat!(
    r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tests"]}"#,
    "\n",
    r#"{"type":"entity","name":"auth","entityType":"module","observations":["is old"]}"#,
    "\n",
    "not json\n",
    r#"{"type":"relation","from":"Ada","to":"auth","relationType":"maintains"}"#,
    "\n",
    r#"{"type":"relation","from":"auth","to":"Ada","relationType":"depends_on"}"#,
    "\n",
    r#"{"type":"relation","from":"Ada","to":"nobody","relationType":"knows"}"#,
    "\n",
    r#"{"type":"riddle"}"#,
    "\n",
    r#"{"type":"entity","name":"big","entityType":"concept","observations":["LONG"]}"#,
    "\n",
);

pub(super) const BEADS: &str = concat!(
    r#"{"id":"bd-1","title":"Do it","description":"All of it","status":"open","priority":1,"issue_type":"task","acceptance_criteria":"it works","labels":["x"],"created_at":"2026-01-02T03:04:05Z","dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"}]}"#,
    "\n",
    "{\"title\":\"no id\"}\n",
    "oops\n",
    r#"{"id":"bd-2","title":"Done","status":"closed","created_at":"2026-01-01T00:00:00Z"}"#,
    "\n",
);

pub(super) const CLAUDE_MD: &str = "# Project

This is a shop.

## Rules

- Use pnpm instead of npm.
- Never force-push to `main`.
- **Do not** edit `generated/`
- Services are built with Rust.

## Running

Start it with:

```sh
never mind this one; use it
```

<!-- twining:begin (written) -->
- Use ours
<!-- twining:end -->

Ask Ada about the rest.
";
