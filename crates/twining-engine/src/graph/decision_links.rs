//! Writes a decision's links to files, symbols and other decisions into the graph.
//!
//! A decision is a concept named by its id. It enters the graph with its first link: an isolated
//! node carries no information and would be reported as orphaned.

use std::collections::{BTreeMap, HashMap, HashSet};

use twining_model::{Change, Decision, Entity, EntityType, Id, RelationType, limits};
use twining_store::{StoreError, View};

use crate::caller::Stamp;
use crate::fields;
use crate::graph::entities::{joined_edges, new_entity, new_relation};

/// Links a new decision with what it affects, rests on and replaces.
pub(crate) fn link_decision(
    change: &mut Change,
    view: &View<'_>,
    decision: &Decision,
    stamp: &Stamp<'_>,
) -> Result<(), StoreError> {
    let alone = decision.affected_files.is_empty()
        && decision.affected_symbols.is_empty()
        && decision.depends_on.is_empty()
        && decision.supersedes.is_none()
        && decision.commit_hashes.is_empty();
    if alone {
        return Ok(());
    }
    let mut upsert = GraphUpsert::new(change, view, stamp);
    let concept = concept(&mut upsert, decision)?;
    let scope = fields::clip(&decision.scope, limits::PROPERTY_BYTES);
    let files = decision.affected_files.iter().map(|file| (file, EntityType::File));
    let symbols = decision.affected_symbols.iter().map(|symbol| (symbol, symbol_kind(symbol)));
    for (name, kind) in files.chain(symbols) {
        let affected = upsert.entity(name, kind, &[("scope", &scope)])?;
        upsert.relate(
            &affected,
            RelationType::DecidedBy,
            &concept,
            &[("decision_summary", &decision.summary)],
        )?;
    }
    let rests_on = decision.depends_on.iter().map(|id| (id, RelationType::DependsOn));
    let replaces = decision.supersedes.iter().map(|id| (id, RelationType::Supersedes));
    for (id, kind) in rests_on.chain(replaces) {
        let Some(other) = Id::read(id) else { continue };
        if let Some(other) = view.decisions().get(&other)? {
            let other = self::concept(&mut upsert, &other)?;
            upsert.relate(&concept, kind, &other, &[])?;
        }
    }
    for hash in &decision.commit_hashes {
        let commit = upsert.entity(hash, EntityType::Commit, &[])?;
        upsert.relate(&concept, RelationType::Produces, &commit, &[])?;
    }
    Ok(())
}

/// Links a decision with a commit that carries it out.
pub(crate) fn link_commit(
    change: &mut Change,
    view: &View<'_>,
    decision: &Decision,
    hash: &str,
    stamp: &Stamp<'_>,
) -> Result<(), StoreError> {
    let mut upsert = GraphUpsert::new(change, view, stamp);
    let concept = concept(&mut upsert, decision)?;
    let commit = upsert.entity(hash, EntityType::Commit, &[])?;
    upsert.relate(&concept, RelationType::Produces, &commit, &[])
}

/// The entities linked with a decision, at most `limit`, and whether there are more.
pub(crate) fn linked_to_decision(
    view: &View<'_>,
    id: &Id,
    limit: usize,
) -> Result<(Vec<Entity>, bool), StoreError> {
    let mut found: Vec<Entity> = Vec::new();
    let Some(concept) = view.graph().named_as(id.as_str(), EntityType::Concept.as_str())? else {
        return Ok((found, false));
    };
    for edge in joined_edges(view, &concept.id, &[], limits::WALK_NODES)? {
        if edge.other == concept.id || found.iter().any(|entity| entity.id == edge.other) {
            continue;
        }
        if found.len() == limit {
            return Ok((found, true));
        }
        found.extend(view.graph().entity(&edge.other)?);
    }
    Ok((found, false))
}

/// What a symbol is, by the one convention most languages share.
pub(crate) fn symbol_kind(symbol: &str) -> EntityType {
    let is_plain_name = !symbol.contains(['(', '.', ':', '#']);
    if is_plain_name && symbol.starts_with(char::is_uppercase) {
        EntityType::Class
    } else {
        EntityType::Function
    }
}

fn concept(upsert: &mut GraphUpsert<'_, '_>, decision: &Decision) -> Result<String, StoreError> {
    let domain = fields::clip(&decision.domain, limits::PROPERTY_BYTES);
    let summary = fields::clip(&decision.summary, limits::PROPERTY_BYTES);
    upsert.entity(
        decision.id.as_str(),
        EntityType::Concept,
        &[("summary", &summary), ("domain", &domain)],
    )
}

/// Adds to a change what the graph lacks; what it has is left as it is.
pub(crate) struct GraphUpsert<'a, 'v> {
    change: &'a mut Change,
    view: &'a View<'v>,
    stamp: &'a Stamp<'a>,
    known: HashMap<(String, EntityType), String>,
    fresh: HashSet<String>,
}

impl<'a, 'v> GraphUpsert<'a, 'v> {
    pub(crate) fn new(change: &'a mut Change, view: &'a View<'v>, stamp: &'a Stamp<'a>) -> Self {
        Self { change, view, stamp, known: HashMap::new(), fresh: HashSet::new() }
    }

    /// The id of the entity with this name and type, made now if need be.
    pub(crate) fn entity(
        &mut self,
        name: &str,
        kind: EntityType,
        properties: &[(&str, &str)],
    ) -> Result<String, StoreError> {
        let key = (name.to_owned(), kind);
        if let Some(id) = self.known.get(&key) {
            return Ok(id.clone());
        }
        let id = match self.view.graph().named_as(name, kind.as_str())? {
            Some(entity) => entity.id,
            None => {
                let entity = new_entity(name, kind, owned(properties), self.stamp);
                let id = entity.id.clone();
                self.fresh.insert(id.clone());
                self.change.entities.push(entity);
                id
            }
        };
        self.known.insert(key, id.clone());
        Ok(id)
    }

    /// Relates two entities, unless they are so related already. Callers name
    /// each pair once.
    pub(crate) fn relate(
        &mut self,
        source: &str,
        kind: RelationType,
        target: &str,
        properties: &[(&str, &str)],
    ) -> Result<(), StoreError> {
        let may_exist = !self.fresh.contains(source) && !self.fresh.contains(target);
        if may_exist && self.view.graph().relation_between(source, target, kind.as_str())?.is_some()
        {
            return Ok(());
        }
        self.change.relations.push(new_relation(
            source,
            target,
            kind,
            owned(properties),
            self.stamp,
        ));
        Ok(())
    }
}

fn owned(properties: &[(&str, &str)]) -> BTreeMap<String, String> {
    properties.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}
