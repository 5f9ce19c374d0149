// What every verb takes and answers. Made by `generate.mjs` of `twining schema`; do not edit.

export interface Verbs {
  assemble: {
    input: {
      task: string;
      scope: string;
      max_tokens?: number;
      host?: "claude" | "codex" | "mcp";
      agent_id?: string;
      explain?: boolean;
    };
    output: {
      assembled_at: string;
      task: string;
      scope: string;
      token_estimate: number;
      mode: "keyword" | "semantic" | "hybrid";
      not_yet_embedded?: number;
      active_decisions: {
        id: string;
        summary: string;
        rationale?: string;
        confidence: "low" | "medium" | "high";
        status: "active" | "provisional" | "superseded" | "overridden";
        scope: string;
        contested_by?: string[];
        affected_files?: string[];
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
        why: string;
        tokens?: number;
      }[];
      open_needs: {
        id: string;
        entry_type?: string;
        summary: string;
        detail?: string;
        scope: string;
        timestamp: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
        why: string;
        tokens?: number;
      }[];
      recent_findings: {
        id: string;
        entry_type?: string;
        summary: string;
        detail?: string;
        scope: string;
        timestamp: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
        why: string;
        tokens?: number;
      }[];
      active_warnings: {
        id: string;
        entry_type?: string;
        summary: string;
        detail?: string;
        scope: string;
        timestamp: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
        why: string;
        tokens?: number;
      }[];
      recent_questions: {
        id: string;
        entry_type?: string;
        summary: string;
        detail?: string;
        scope: string;
        timestamp: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
        why: string;
        tokens?: number;
      }[];
      related_entities: {
        name: string;
        type: string;
        relations: string[];
        tokens?: number;
      }[];
      overridden?: {
        id: string;
        summary: string;
        by: string;
        reason: string;
        superseded_by?: string;
        tokens?: number;
      }[];
      claims?: {
        agent_id: string;
        paths: string[];
        feature?: string;
        until: string;
        reason: string;
        tokens?: number;
      }[];
      handoffs?: {
        id: string;
        source_agent: string;
        target_agent?: string;
        summary: string;
        tokens?: number;
      }[];
      omitted: {
        id: string;
        summary: string;
        status?: "active" | "provisional" | "superseded" | "overridden";
        code?: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
        explained?: {
          because: "less_relevant" | "over_budget" | "superseded" | "overridden" | "repeats" | "code";
          score: number;
          listed: boolean;
          tokens?: number;
        };
      }[];
      omitted_count: number;
      sections?: {
        section: string;
        records: number;
        tokens: number;
      }[];
    };
  };
  summarize: {
    input: {
      scope?: string;
    };
    output: {
      scope: string;
      active_decisions: number;
      provisional_decisions: number;
      open_needs: number;
      active_warnings: number;
      unanswered_questions: number;
      recent_activity_summary: string;
    };
  };
  what_changed: {
    input: {
      since?: string;
      base?: string;
      scope?: string;
      limit?: number;
      offset?: number;
    };
    output: {
      since: string;
      merge_base?: string;
      new_decisions: {
        id: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
        reason?: string;
      }[];
      new_entries: {
        id: string;
        entry_type: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
      }[];
      overridden_decisions: {
        id: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
        reason: string;
      }[];
      reconsidered_decisions: {
        id: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
        reason: string;
      }[];
      superseded_decisions: {
        id: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
        reason: string;
      }[];
      promoted_decisions: {
        id: string;
        summary: string;
        at: string;
        by: string;
        scope: string;
        reason?: string;
      }[];
      changed_code?: {
        id: string;
        summary: string;
        at: string;
        became: "moved" | "doubtful" | "orphaned";
        reason?: string;
        to?: string;
        settle?: string;
        binds: boolean;
        assumed?: boolean;
        confirmed_in?: string;
      }[];
      total: number;
      omitted_count?: number;
      next_offset?: number;
    };
  };
  waiting: {
    input: {
      kinds?: string[];
      scope?: string;
      settled?: boolean;
      limit?: number;
      offset?: number;
    };
    output: {
      items: {
        id: string;
        kind: "altered" | "dead_guard" | "contested" | "merge_clash" | "claimed_override" | "blocked_feature" | "turn_question" | "question" | "need" | "proposed_guard" | "stale_claim" | "handoff" | "knowledge_error";
        title: string;
        why_you: string;
        since?: string;
        scope?: string;
        by?: string;
        gravity: "grave" | "blocking" | "open" | "minor";
        subjects: {
          id: string;
          summary: string;
          detail?: string;
          by?: string;
          status?: string;
          rests_on_it?: string;
          href: string;
        }[];
        answers: {
          label: string;
          verb: string;
          input: Record<string, unknown>;
          needs: ("reason" | "text" | "name")[];
          field?: string;
          reason_field?: string;
          then: string;
          command: string;
        }[];
        href: string;
        settled?: {
          by: string;
          at: string;
          how: string;
          reason?: string;
        };
      }[];
      total: number;
      counts: {
        kind: "altered" | "dead_guard" | "contested" | "merge_clash" | "claimed_override" | "blocked_feature" | "turn_question" | "question" | "need" | "proposed_guard" | "stale_claim" | "handoff" | "knowledge_error";
        count: number;
      }[];
      next_offset?: number;
      truncated?: boolean;
    };
  };
  post: {
    input: {
      entry_type: "need" | "offer" | "finding" | "constraint" | "question" | "answer" | "status" | "artifact" | "warning";
      summary: string;
      detail?: string;
      tags?: string[];
      scope?: string;
      relates_to?: string[];
      agent_id?: string;
      force?: boolean;
    };
    output: {
      id: string;
      timestamp: string;
      duplicate_of?: string;
      note?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
      anchored?: {
        at: string;
        kind: string;
        coarse?: boolean;
      }[];
      unresolved?: {
        name: string;
        nearest?: string[];
      }[];
      beside?: string[];
    };
  };
  read: {
    input: {
      entry_types?: string[];
      tags?: string[];
      scope?: string;
      since?: string;
      limit?: number;
      offset?: number;
      ids?: string[];
      fresh_only?: boolean;
    };
    output: {
      entries: {
        id: string;
        timestamp: string;
        agent_id: string;
        entry_type: string;
        tags: string[];
        relates_to?: string[];
        scope: string;
        summary: string;
        detail: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      total_count: number;
      next_offset?: number;
      truncated?: boolean;
      decisions?: {
        id: string;
        timestamp: string;
        agent_id: string;
        domain: string;
        scope: string;
        summary: string;
        context: string;
        rationale: string;
        constraints: string[];
        alternatives: {
          option: string;
          pros: string[];
          cons: string[];
          reason_rejected: string;
        }[];
        depends_on: string[];
        supersedes?: string;
        superseded_by?: string;
        confidence: "low" | "medium" | "high";
        status: "active" | "provisional" | "superseded" | "overridden";
        reversible: boolean;
        affected_files: string[];
        affected_symbols: string[];
        commit_hashes: string[];
        commits?: {
          hash: string;
          summary?: string;
          linked_at: string;
          by?: string;
        }[];
        overridden_by?: string;
        override_reason?: string;
        override_authority?: "claimed" | "confirmed";
        compatible_with?: string[];
        history?: {
          at: string;
          status: "active" | "provisional" | "superseded" | "overridden";
          by: string;
          reason: string;
        }[];
        assembled_before?: boolean;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      missing?: string[];
      stale_count?: number;
    };
  };
  query: {
    input: {
      query: string;
      entry_types?: string[];
      tags?: string[];
      scope?: string;
      status?: "open" | "any";
      since?: string;
      limit?: number;
      fresh_only?: boolean;
    };
    output: {
      results: {
        entry: {
          id: string;
          timestamp: string;
          agent_id: string;
          entry_type: string;
          tags: string[];
          relates_to?: string[];
          scope: string;
          summary: string;
          detail: string;
          origin?: {
            client?: string;
            session?: string;
            principal?: string;
            head?: string;
            branch?: string;
            via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
            trust: "imported" | "tool" | "agent" | "human";
          };
        };
        relevance: number;
        why: {
          lexical?: number;
          semantic?: number;
          author?: number;
          scope?: number;
          recency?: number;
          confidence?: number;
          kind?: number;
          graph?: number;
          human?: number;
          code?: number;
        };
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      mode: "keyword" | "semantic" | "hybrid";
      not_yet_embedded?: number;
      truncated?: boolean;
      stale_count?: number;
    };
  };
  recent: {
    input: {
      n?: number;
      offset?: number;
      entry_types?: string[];
      scope?: string;
      tags?: string[];
      since?: string;
      until?: string;
      agent?: string;
      status?: "open" | "any";
      fresh_only?: boolean;
    };
    output: {
      entries: {
        id: string;
        timestamp: string;
        agent_id: string;
        entry_type: string;
        tags: string[];
        relates_to?: string[];
        scope: string;
        summary: string;
        detail: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      total: number;
      next_offset?: number;
      truncated?: boolean;
      stale_count?: number;
    };
  };
  dismiss: {
    input: {
      ids: string[];
      reason?: string;
      agent_id?: string;
    };
    output: {
      dismissed: string[];
      already_closed: string[];
      not_found: string[];
      id?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  decide: {
    input: {
      summary: string;
      domain?: string;
      scope?: string;
      context?: string;
      rationale: string;
      constraints?: string[];
      rules_out?: string[];
      alternatives?: {
        option: string;
        pros?: string[];
        cons?: string[];
        reason_rejected: string;
      }[];
      depends_on?: string[];
      supersedes?: string;
      confidence?: "high" | "medium" | "low";
      reversible?: boolean;
      affected_files?: string[];
      affected_symbols?: string[];
      commit_hash?: string;
      agent_id?: string;
    };
    output: {
      id: string;
      timestamp: string;
      status: "active" | "provisional" | "superseded" | "overridden";
      conflicts?: {
        id: string;
        summary: string;
        scope: string;
        rationale: string;
      }[];
      omitted_conflicts?: number;
      rules_out?: string[];
      superseded?: string;
      still_ruled_out?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
      anchored?: {
        at: string;
        kind: string;
        coarse?: boolean;
      }[];
      unresolved?: {
        name: string;
        nearest?: string[];
      }[];
      beside?: string[];
    };
  };
  why: {
    input: {
      scope?: string;
      commit?: string;
      limit?: number;
      include_retired?: boolean;
    };
    output: {
      decisions: {
        id: string;
        summary: string;
        rationale: string;
        confidence: "low" | "medium" | "high";
        status: "active" | "provisional" | "superseded" | "overridden";
        timestamp: string;
        agent_id: string;
        origin: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        alternatives_count: number;
        scope: string;
        matched: string;
        assumed?: boolean;
        rules_out?: string[];
        commit_hashes: string[];
        superseded_by?: string;
        override_reason?: string;
        contested_by?: string[];
        merge_clashes?: {
          field: string;
          other: string;
        }[];
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      active_count: number;
      provisional_count: number;
      total_count: number;
      omitted_count: number;
      contested: boolean;
      warnings?: {
        id: string;
        summary: string;
        timestamp: string;
        agent_id: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      unreadable?: string[];
      rules?: {
        id: string;
        say: string;
      }[];
      evidence?: {
        feature: string;
        status: "pending" | "in_progress" | "completed" | "tested" | "blocked";
        run?: string;
        command?: string;
      }[];
      traces?: {
        id: string;
        timestamp: string;
        what: string;
        guard?: string;
      }[];
      commits?: {
        commit: string;
        timestamp: string;
        subject: string;
        pull_request?: string;
        decision?: string;
      }[];
      moved?: {
        from: string;
        to: string;
        id?: string;
      }[];
      changed_files?: string[];
    };
  };
  trace: {
    input: {
      decision_id: string;
      direction?: "upstream" | "downstream" | "both";
    };
    output: {
      chain: {
        id: string;
        summary: string;
        depends_on: string[];
        dependents: string[];
        status: "active" | "provisional" | "superseded" | "overridden";
      }[];
      missing?: string[];
      truncated: boolean;
      is_loop?: boolean;
    };
  };
  reconsider: {
    input: {
      decision_id: string;
      new_context: string;
      agent_id?: string;
    };
    output: {
      flagged: boolean;
      decision_summary: string;
      dependents: string[];
      note?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  override: {
    input: {
      decision_id: string;
      reason: string;
      new_decision?: string;
      also?: string[];
      overridden_by?: string;
      agent_id?: string;
    };
    output: {
      overridden: boolean;
      old_summary: string;
      authority: "claimed" | "confirmed";
      replacement?: string;
      also_overridden?: string[];
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  promote: {
    input: {
      decision_ids: string[];
      instead_of?: string[];
      reason?: string;
      promoted_by?: string;
      agent_id?: string;
    };
    output: {
      promoted: string[];
      already_active: string[];
      refused: {
        id: string;
        reason: string;
      }[];
      contested?: {
        id: string;
        rivals: string[];
      }[];
      kept_beside?: {
        id: string;
        rivals: string[];
      }[];
      overridden?: string[];
      authority?: "claimed" | "confirmed";
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  decisions: {
    input: {
      status?: string[];
      domain?: string;
      scope?: string;
      author?: string;
      contested?: boolean;
      query?: string;
      limit?: number;
      offset?: number;
    };
    output: {
      decisions: {
        id: string;
        summary: string;
        rationale?: string;
        domain: string;
        scope: string;
        status: "active" | "provisional" | "superseded" | "overridden";
        confidence: "low" | "medium" | "high";
        by: string;
        at: string;
        contested_by?: string[];
        superseded_by?: string;
        commits?: number;
        must_not_use?: string[];
      }[];
      total: number;
      next_offset?: number;
      truncated?: boolean;
    };
  };
  search_decisions: {
    input: {
      query: string;
      domain?: string;
      status?: "active" | "provisional" | "superseded" | "overridden";
      confidence?: "high" | "medium" | "low";
      scope?: string;
      since?: string;
      limit?: number;
      fresh_only?: boolean;
    };
    output: {
      results: {
        decision: {
          id: string;
          timestamp: string;
          agent_id: string;
          domain: string;
          scope: string;
          summary: string;
          context: string;
          rationale: string;
          constraints: string[];
          alternatives: {
            option: string;
            pros: string[];
            cons: string[];
            reason_rejected: string;
          }[];
          depends_on: string[];
          supersedes?: string;
          superseded_by?: string;
          confidence: "low" | "medium" | "high";
          status: "active" | "provisional" | "superseded" | "overridden";
          reversible: boolean;
          affected_files: string[];
          affected_symbols: string[];
          commit_hashes: string[];
          commits?: {
            hash: string;
            summary?: string;
            linked_at: string;
            by?: string;
          }[];
          overridden_by?: string;
          override_reason?: string;
          override_authority?: "claimed" | "confirmed";
          compatible_with?: string[];
          history?: {
            at: string;
            status: "active" | "provisional" | "superseded" | "overridden";
            by: string;
            reason: string;
          }[];
          assembled_before?: boolean;
          origin?: {
            client?: string;
            session?: string;
            principal?: string;
            head?: string;
            branch?: string;
            via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
            trust: "imported" | "tool" | "agent" | "human";
          };
        };
        relevance: number;
        why: {
          lexical?: number;
          semantic?: number;
          author?: number;
          scope?: number;
          recency?: number;
          confidence?: number;
          kind?: number;
          graph?: number;
          human?: number;
          code?: number;
        };
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      mode: "keyword" | "semantic" | "hybrid";
      not_yet_embedded?: number;
      truncated?: boolean;
      stale_count?: number;
    };
  };
  link_commit: {
    input: {
      decision_id: string;
      commit_hash: string;
      summary?: string;
      agent_id?: string;
    };
    output: {
      linked: boolean;
      decision_id: string;
      commit_hash: string;
      decision_summary: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  commits: {
    input: {
      commit_hash: string;
    };
    output: {
      commit_hash: string;
      decisions: {
        id: string;
        summary: string;
        domain: string;
        scope: string;
        status: "active" | "provisional" | "superseded" | "overridden";
        confidence: "low" | "medium" | "high";
        timestamp: string;
        commit_hash: string;
      }[];
    };
  };
  impact: {
    input: {
      decision_id: string;
    };
    output: {
      decision?: {
        id: string;
        timestamp: string;
        agent_id: string;
        domain: string;
        scope: string;
        summary: string;
        context: string;
        rationale: string;
        constraints: string[];
        alternatives: {
          option: string;
          pros: string[];
          cons: string[];
          reason_rejected: string;
        }[];
        depends_on: string[];
        supersedes?: string;
        superseded_by?: string;
        confidence: "low" | "medium" | "high";
        status: "active" | "provisional" | "superseded" | "overridden";
        reversible: boolean;
        affected_files: string[];
        affected_symbols: string[];
        commit_hashes: string[];
        commits?: {
          hash: string;
          summary?: string;
          linked_at: string;
          by?: string;
        }[];
        overridden_by?: string;
        override_reason?: string;
        override_authority?: "claimed" | "confirmed";
        compatible_with?: string[];
        history?: {
          at: string;
          status: "active" | "provisional" | "superseded" | "overridden";
          by: string;
          reason: string;
        }[];
        assembled_before?: boolean;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
      };
      dependents?: {
        id: string;
        summary: string;
        status: "active" | "provisional" | "superseded" | "overridden";
        depth: number;
      }[];
      affected_files?: string[];
      affected_symbols?: string[];
      entities?: {
        id: string;
        name: string;
        type: string;
        properties: Record<string, string>;
        created_at: string;
        updated_at: string;
        agent_id?: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
      }[];
      entries?: {
        id: string;
        entry_type: string;
        summary: string;
      }[];
      commits?: string[];
      rests_on_it?: string;
      risk?: "low" | "medium" | "high";
      summary?: string;
      truncated?: boolean;
      code?: {
        at: string;
        records: {
          id: string;
          summary: string;
          at: string;
          binds: boolean;
          assumed?: boolean;
          code?: {
            state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
            at?: string;
            reason?: string;
            moved_from?: string;
            places?: string;
          };
        }[];
        features?: string[];
        claimed_by?: string[];
        guards?: string[];
        tests?: string[];
        mentioned_in: {
          at: string;
          of: number;
          records?: string[];
        }[];
        omitted_count?: number;
        changes_with?: {
          path: string;
          percent: number;
        }[];
      };
    };
  };
  confirm: {
    input: {
      ids?: string[];
      reason?: string;
      all_moved?: boolean;
      all_fresh?: boolean;
      agent_id?: string;
    };
    output: {
      confirmed: {
        id: string;
        anchored: {
          at: string;
          kind: string;
          coarse?: boolean;
        }[];
        gone?: string[];
        unread?: boolean;
      }[];
      written_to?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  reanchor: {
    input: {
      id: string;
      at?: string;
      to?: string;
      accept?: boolean;
      release?: boolean;
      agent_id?: string;
    };
    output: {
      id: string;
      from?: string;
      to?: string;
      written_to?: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  drift: {
    input: {
      range?: string;
      staged?: boolean;
    };
    output: {
      compared: string;
      checked: number;
      unchecked?: number;
      findings: {
        id: string;
        summary: string;
        at: string;
        became: "moved" | "doubtful" | "orphaned";
        reason?: string;
        to?: string;
        settle?: string;
        binds: boolean;
        assumed?: boolean;
        confirmed_in?: string;
      }[];
      omitted_count?: number;
    };
  };
  add_entity: {
    input: {
      name: string;
      type: "module" | "function" | "class" | "file" | "concept" | "pattern" | "dependency" | "api_endpoint" | "agent" | "commit";
      properties?: Record<string, string>;
      agent_id?: string;
    };
    output: {
      id: string;
      created: boolean;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  add_relation: {
    input: {
      source: string;
      target: string;
      type: "depends_on" | "implements" | "decided_by" | "affects" | "tested_by" | "calls" | "imports" | "related_to" | "supersedes" | "produces" | "challenged";
      properties?: Record<string, string>;
      agent_id?: string;
    };
    output: {
      id: string;
      created: boolean;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  neighbors: {
    input: {
      entity: string;
      depth?: number;
      relation_types?: string[];
    };
    output: {
      center: {
        id: string;
        name: string;
        type: string;
        properties: Record<string, string>;
        created_at: string;
        updated_at: string;
        agent_id?: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
      };
      neighbors: {
        entity: {
          id: string;
          name: string;
          type: string;
          properties: Record<string, string>;
          created_at: string;
          updated_at: string;
          agent_id?: string;
          origin?: {
            client?: string;
            session?: string;
            principal?: string;
            head?: string;
            branch?: string;
            via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
            trust: "imported" | "tool" | "agent" | "human";
          };
        };
        relation: string;
        direction: "outgoing" | "incoming";
        depth: number;
      }[];
      truncated: boolean;
      code_at?: string;
      derived?: {
        at: string;
        type: string;
        relation: string;
        direction: "outgoing" | "incoming";
        derived: boolean;
        of?: number;
        percent?: number;
      }[];
    };
  };
  path: {
    input: {
      from: string;
      to: string;
      max_depth?: number;
      relation_types?: string[];
    };
    output: {
      found: boolean;
      length: number;
      path: {
        entity: {
          id: string;
          name: string;
          type: string;
          properties: Record<string, string>;
          created_at: string;
          updated_at: string;
          agent_id?: string;
          origin?: {
            client?: string;
            session?: string;
            principal?: string;
            head?: string;
            branch?: string;
            via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
            trust: "imported" | "tool" | "agent" | "human";
          };
        };
        relation?: string;
        direction?: "outgoing" | "incoming";
        derived?: boolean;
      }[];
      truncated?: boolean;
    };
  };
  graph_query: {
    input: {
      query: string;
      entity_types?: string[];
      limit?: number;
    };
    output: {
      entities: {
        id: string;
        name: string;
        type: string;
        properties: Record<string, string>;
        created_at: string;
        updated_at: string;
        agent_id?: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
      }[];
      derived?: {
        at: string;
        type: string;
        derived: boolean;
        entity_id?: string;
        links?: {
          at: string;
          type: string;
          relation: string;
          direction: "outgoing" | "incoming";
          derived: boolean;
          of?: number;
          percent?: number;
        }[];
      }[];
      truncated: boolean;
    };
  };
  graph: {
    input: {
      around?: string;
      depth?: number;
      level?: "nodes" | "folders";
      limit?: number;
      layout?: boolean;
      reviewed?: boolean;
    };
    output: {
      nodes: {
        id: string;
        name: string;
        kind: string;
        x?: number;
        y?: number;
        degree: number;
        href: string;
        detail?: string;
      }[];
      edges: {
        from: string;
        to: string;
        kind: string;
      }[];
      total_nodes: number;
      total_edges: number;
      level: "nodes" | "folders";
      note?: string;
    };
  };
  prune_graph: {
    input: {
      dry_run?: boolean;
      agent_id?: string;
    };
    output: {
      dry_run: boolean;
      removed_entities: {
        id: string;
        name: string;
        type: string;
      }[];
      removed_entity_count: number;
      removed_relation_count: number;
      note?: string;
    };
  };
  knowledge_retrieve: {
    input: {
      terms?: string;
      max_results?: number;
      level?: "architecture" | "implementation" | "all";
      depth?: number;
    };
    output: {
      subgraph: string;
      count: number;
      hits: string[];
      neighbors: string[];
      search_terms: string[];
      omitted?: number;
      omitted_edges?: number;
      left_out?: number;
      note?: string;
      code?: Record<string, {
        state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
        at?: string;
        reason?: string;
        moved_from?: string;
        places?: string;
      }>;
    };
  };
  knowledge_pack: {
    input: {
      description: string;
      story_id?: string;
      acceptance_criteria?: string[];
      max_results?: number;
      level?: "architecture" | "implementation" | "all";
    };
    output: {
      story_id?: string;
      pack_id: string;
      cached: boolean;
      subgraph: string;
      count: number;
      hits: string[];
      neighbors: string[];
      search_terms: string[];
      omitted?: number;
      omitted_edges?: number;
      left_out?: number;
      note?: string;
      code?: Record<string, {
        state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
        at?: string;
        reason?: string;
        moved_from?: string;
        places?: string;
      }>;
    };
  };
  knowledge_update: {
    input: {
      operations: {
        id?: string;
        type?: string;
        level?: string;
        status?: string;
        description?: string;
        tag?: string;
        component?: string;
        path?: string;
        example?: string;
        priority?: string;
        from?: string;
        to?: string;
        relation?: string;
        note?: string;
        op: "add_node" | "update_node" | "remove_node" | "add_edge" | "remove_edge";
      }[];
      story_id?: string;
      dry_run?: boolean;
    };
    output: {
      file: string;
      created: boolean;
      written: boolean;
      joined?: boolean;
      nodes_added: string[];
      nodes_changed: string[];
      nodes_removed: string[];
      edges_added: number;
      edges_removed: number;
      nodes: number;
      edges: number;
      warnings?: {
        node_id?: string;
        field?: string;
        message: string;
        line: number;
        column: number;
        suggestion?: string;
      }[];
      redacted?: {
        field: string;
        kind: string;
      }[];
      anchored?: {
        at: string;
        kind: string;
        coarse?: boolean;
      }[];
      unresolved?: {
        name: string;
        nearest?: string[];
      }[];
    };
  };
  knowledge_check: {
    input: {
      path?: string;
    };
    output: {
      valid: boolean;
      file: string;
      errors: {
        node_id?: string;
        field?: string;
        message: string;
        line: number;
        column: number;
        suggestion?: string;
      }[];
      warnings: {
        node_id?: string;
        field?: string;
        message: string;
        line: number;
        column: number;
        suggestion?: string;
      }[];
      nodes: number;
      edges: number;
      omitted?: number;
    };
  };
  review_context: {
    input: {
      kind: "plan" | "code" | "budget";
      story_id?: string;
      base?: string;
      head?: string;
    };
    output: {
      kind: string;
      story_id?: string;
      base?: string;
      head?: string;
      knowledge_file: string;
      knowledge_modified: boolean;
      knowledge_errors: {
        node_id?: string;
        field?: string;
        message: string;
        line: number;
        column: number;
        suggestion?: string;
      }[];
      changes: {
        nodes_added: string[];
        nodes_removed: string[];
        nodes_changed: {
          id: string;
          fields: string[];
        }[];
        edges_added: string[];
        edges_removed: string[];
        edges_changed: string[];
        omitted?: number;
      };
      critical_rules: {
        id: string;
        description: string;
        because: string;
        change?: "removed" | "lowered" | "narrowed" | "reworded";
        before?: string;
      }[];
      changed_files: number;
      pack?: {
        story_id?: string;
        pack_id: string;
        cached: boolean;
        subgraph: string;
        count: number;
        hits: string[];
        neighbors: string[];
        search_terms: string[];
        omitted?: number;
        omitted_edges?: number;
        left_out?: number;
        note?: string;
        code?: Record<string, {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        }>;
      };
      notes?: string[];
      prompt: string;
    };
  };
  role: {
    input: {
      role: string;
      project?: string;
    };
    output: {
      id: string;
      role: string;
      must_do: string[];
      must_not_do: string[];
      ask_before: string[];
      escalate_when: string[];
      sources: Record<string, string[]>;
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  gates: {
    input: {
      task_type: string;
      complexity: number;
    };
    output: {
      task_type: string;
      complexity: number;
      profile: {
        id: string;
        task_type: string;
        complexity_range: number[];
        arch_review_required: boolean;
        arch_review_threshold?: number;
        coverage_required: boolean;
        coverage_threshold?: number;
        tests_required: boolean;
        tests_must_pass: boolean;
        sources: Record<string, string>;
      };
      notes?: string[];
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  check_gates: {
    input: {
      task_type: string;
      complexity: number;
      results?: {
        tests?: {
          run?: number;
          passed?: number;
          failed?: number;
        };
        coverage?: number;
        arch_score?: number;
      };
      reports?: string[];
    };
    output: {
      overall: "pass" | "unknown" | "fail";
      approved: boolean;
      gates: {
        gate: string;
        standing: "pass" | "unknown" | "fail";
        reason: string;
        evidence: "report" | "claimed" | "none";
        next?: string;
      }[];
      next: string[];
      profile: {
        id: string;
        task_type: string;
        complexity_range: number[];
        arch_review_required: boolean;
        arch_review_threshold?: number;
        coverage_required: boolean;
        coverage_threshold?: number;
        tests_required: boolean;
        tests_must_pass: boolean;
        sources: Record<string, string>;
      };
      reports?: {
        path: string;
        format?: "junit" | "cobertura" | "lcov" | "libtest" | "pytest" | "go_test";
        tests?: {
          run: number;
          passed: number;
          failed: number;
        };
        lines?: {
          covered: number;
          total: number;
        };
        problem?: string;
      }[];
      notes?: string[];
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  prompt: {
    input: {
      role: string;
      task: string;
      feature?: string;
      task_type?: string;
      complexity?: number;
      turn?: number;
      scope?: string;
    };
    output: {
      role: string;
      turn_id: string;
      text: string;
      token_estimate: number;
      token_budget: number;
      role_constraints?: {
        id: string;
        must_do: string[];
        must_not_do: string[];
        ask_before: string[];
        escalate_when: string[];
      };
      gates?: {
        id: string;
        task_type: string;
        complexity_range: number[];
        arch_review_required: boolean;
        arch_review_threshold?: number;
        coverage_required: boolean;
        coverage_threshold?: number;
        tests_required: boolean;
        tests_must_pass: boolean;
        sources: Record<string, string>;
      };
      previous_turn?: {
        id: string;
        feature_id: string;
        task_id: string;
        turn_number: number;
        mode?: string;
        player_decision: string;
        player_summary?: string;
        coach_decision: string;
        coach_feedback?: string;
        progress_summary: string;
        blockers_found?: string[];
        acceptance_criteria_status?: Record<string, string>;
        quality_gate_results?: unknown;
        files_modified?: string[];
        tests_passed?: number;
        tests_failed?: number;
        coverage?: number;
        arch_score?: number;
        started_at?: string;
        completed_at?: string;
        duration_seconds?: number;
        lessons_from_turn?: string[];
        what_to_try_next?: string;
        feature_completed?: boolean;
        agent_id?: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        timestamp?: string;
        updated_at?: string;
      };
      mode?: {
        id: string;
        mode: string;
        ceremony: "minimal" | "standard" | "full";
        complexity_range: number[];
        when_to_use: string[];
        pitfalls: string[];
        invocation_method?: string;
        result_location_pattern?: string;
        state_recovery_strategy?: string;
        sources: Record<string, string[]>;
      };
      rules: {
        id: string;
        summary: string;
        detail?: string;
        standing?: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      decisions: {
        id: string;
        summary: string;
        detail?: string;
        standing?: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      warnings: {
        id: string;
        summary: string;
        detail?: string;
        standing?: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      omitted?: {
        id: string;
        summary: string;
        detail?: string;
        standing?: string;
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      omitted_count: number;
      notes?: string[];
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  record_turn: {
    input: {
      task: string;
      turn: number;
      feature?: string;
      player_decision: string;
      coach_decision: "approve" | "revise" | "escalate";
      progress_summary: string;
      blockers_found?: string[];
      acceptance_criteria_status?: Record<string, string>;
      mode?: "fresh_start" | "continuing_work" | "recovering_state";
      quality_gate_results?: Record<string, unknown>;
      player_summary?: string;
      coach_feedback?: string;
      files_modified?: string[];
      tests_passed?: number;
      tests_failed?: number;
      coverage?: number;
      arch_score?: number;
      started_at?: string;
      completed_at?: string;
      lessons_from_turn?: string[];
      what_to_try_next?: string;
      feature_completed?: boolean;
      agent_id?: string;
    };
    output: {
      id: string;
      path: string;
      updated: boolean;
      pruned?: string[];
      notes?: string[];
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  turns: {
    input: {
      feature: string;
      task?: string;
      last?: number;
    };
    output: {
      feature: string;
      turns: {
        id: string;
        feature_id: string;
        task_id: string;
        turn_number: number;
        mode?: string;
        player_decision: string;
        player_summary?: string;
        coach_decision: string;
        coach_feedback?: string;
        progress_summary: string;
        blockers_found?: string[];
        acceptance_criteria_status?: Record<string, string>;
        quality_gate_results?: unknown;
        files_modified?: string[];
        tests_passed?: number;
        tests_failed?: number;
        coverage?: number;
        arch_score?: number;
        started_at?: string;
        completed_at?: string;
        duration_seconds?: number;
        lessons_from_turn?: string[];
        what_to_try_next?: string;
        feature_completed?: boolean;
        agent_id?: string;
        origin?: {
          client?: string;
          session?: string;
          principal?: string;
          head?: string;
          branch?: string;
          via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
          trust: "imported" | "tool" | "agent" | "human";
        };
        timestamp?: string;
        updated_at?: string;
      }[];
      total: number;
      truncated?: boolean;
      unreadable?: {
        file: string;
        why: string;
      }[];
    };
  };
  suggest_mode: {
    input: {
      task_type: string;
      complexity: number;
    };
    output: {
      suggestion?: {
        id: string;
        mode: string;
        ceremony: "minimal" | "standard" | "full";
        complexity_range: number[];
        when_to_use: string[];
        pitfalls: string[];
        invocation_method?: string;
        result_location_pattern?: string;
        state_recovery_strategy?: string;
        sources: Record<string, string[]>;
      };
      advisory: boolean;
      task_type: string;
      complexity: number;
      notes?: string[];
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  features: {
    input: {
      action?: "list" | "add" | "update";
      id?: string;
      description?: string;
      status?: "pending" | "in_progress" | "completed" | "tested" | "blocked";
      tested?: boolean;
      files?: string[];
      tests?: string[];
      acceptance_criteria?: string[];
      priority?: string;
      depends_on?: string[];
      reason?: string;
      limit?: number;
      offset?: number;
      agent_id?: string;
    };
    output: {
      path: string;
      features: {
        id: string;
        description: string;
        status: "pending" | "in_progress" | "completed" | "tested" | "blocked";
        tested: boolean;
        files?: string[];
        tests?: string[];
        acceptance_criteria?: string[];
        priority: number;
        depends_on?: string[];
        retries: number;
        group?: string;
        need?: string;
        verified_by?: {
          source: "told" | "seen" | "ci";
          run?: string;
          command?: string;
          tests?: {
            run: number;
            passed: number;
            failed: number;
          };
          at?: string;
          note?: string;
        };
        evidence?: {
          state: "none" | "stale" | "fresh";
          because: string;
        };
        runs?: {
          id?: string;
          command: string;
          at: string;
          by: string;
          grade: "told" | "seen" | "ci";
          passed?: number;
          failed?: number;
          exit?: number;
          is_evidence: boolean;
          because: string;
        }[];
        file_states?: {
          path: string;
          state: "as_run_saw" | "changed" | "missing" | "no_run";
          modified?: string;
        }[];
        code?: {
          state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
          at?: string;
          reason?: string;
          moved_from?: string;
          places?: string;
        };
      }[];
      total: number;
      truncated: boolean;
      next_offset?: number;
      counts: {
        pending: number;
        in_progress: number;
        completed: number;
        tested: number;
        blocked: number;
      };
      problems?: string[];
      redacted?: {
        field: string;
        kind: string;
      }[];
      anchored?: {
        at: string;
        kind: string;
        coarse?: boolean;
      }[];
      unresolved?: {
        name: string;
        nearest?: string[];
      }[];
    };
  };
  next: {
    input: {
      prompt?: boolean;
    };
    output: {
      action: "initialize" | "code" | "test" | "resume" | "blocked" | "done";
      feature?: string;
      attempt?: number;
      say: string;
      why: string;
      role?: string;
      details?: {
        id: string;
        description: string;
        status: "pending" | "in_progress" | "completed" | "tested" | "blocked";
        tested: boolean;
        files?: string[];
        tests?: string[];
        acceptance_criteria?: string[];
        priority: number;
        depends_on?: string[];
        retries: number;
        group?: string;
        need?: string;
        verified_by?: {
          source: "told" | "seen" | "ci";
          run?: string;
          command?: string;
          tests?: {
            run: number;
            passed: number;
            failed: number;
          };
          at?: string;
          note?: string;
        };
      };
      code?: {
        state: "fresh" | "touched" | "unbound" | "unchecked" | "missing" | "drifted" | "doubtful" | "elsewhere" | "orphaned";
        at?: string;
        reason?: string;
        moved_from?: string;
        places?: string;
      };
      prompt?: string;
      counts: {
        pending: number;
        in_progress: number;
        completed: number;
        tested: number;
        blocked: number;
      };
      path: string;
      auto: boolean;
      problems?: string[];
    };
  };
  report: {
    input: {
      feature: string;
      role: string;
      outcome: "started" | "completed" | "passed" | "failed" | "blocked" | "reopened";
      summary?: string;
      files?: string[];
      evidence?: {
        command?: string;
        exit_code?: number;
        tests?: {
          run?: number;
          passed?: number;
          failed?: number;
        };
        output?: string;
        reports?: string[];
        data?: string[];
        finished_at?: string;
        ci_report?: string;
      };
      agent_id?: string;
    };
    output: {
      feature: {
        id: string;
        description: string;
        status: "pending" | "in_progress" | "completed" | "tested" | "blocked";
        tested: boolean;
        files?: string[];
        tests?: string[];
        acceptance_criteria?: string[];
        priority: number;
        depends_on?: string[];
        retries: number;
        group?: string;
        need?: string;
        verified_by?: {
          source: "told" | "seen" | "ci";
          run?: string;
          command?: string;
          tests?: {
            run: number;
            passed: number;
            failed: number;
          };
          at?: string;
          note?: string;
        };
      };
      was: "pending" | "in_progress" | "completed" | "tested" | "blocked";
      run?: string;
      need?: string;
      next: {
        action: "initialize" | "code" | "test" | "resume" | "blocked" | "done";
        feature?: string;
        attempt?: number;
        say: string;
        why: string;
      };
      notes?: string[];
      redacted?: {
        field: string;
        kind: string;
      }[];
      anchored?: {
        at: string;
        kind: string;
        coarse?: boolean;
      }[];
      unresolved?: {
        name: string;
        nearest?: string[];
      }[];
    };
  };
  store_trace: {
    input: {
      type: "correction" | "violation" | "decision" | "approval";
      what_happened: string;
      what_was_correct?: string;
      why?: string;
      action?: string;
      guard?: string;
      about?: string;
      blocked?: boolean;
      feature?: string;
      task?: string;
      agent_id?: string;
    };
    output: {
      id: string;
      timestamp: string;
      trust: "imported" | "tool" | "agent" | "human";
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  query_traces: {
    input: {
      query?: string;
      type?: "correction" | "violation" | "decision" | "approval";
      guard?: string;
      agent?: string;
      blocked?: boolean;
      since?: string;
      until?: string;
      limit?: number;
      offset?: number;
    };
    output: {
      traces: {
        trace: {
          id: string;
          timestamp: string;
          type: string;
          context: {
            agent: string;
            feature?: string;
            task?: string;
          };
          event: {
            what_happened: string;
            what_was_correct?: string;
            why?: string;
          };
          source: string;
          guard?: string;
          action?: string;
          blocked?: boolean;
          guessed?: boolean;
          about?: string;
          call?: string;
          origin?: {
            client?: string;
            session?: string;
            principal?: string;
            head?: string;
            branch?: string;
            via: "mcp" | "cli" | "hook" | "web" | "http" | "import" | "repository" | "unknown";
            trust: "imported" | "tool" | "agent" | "human";
          };
        };
        trust: "imported" | "tool" | "agent" | "human";
        relevance?: number;
      }[];
      total: number;
      mode: "keyword" | "semantic" | "hybrid";
      next_offset?: number;
      truncated?: boolean;
    };
  };
  extract_patterns: {
    input: {
      threshold?: number;
      since?: string;
      limit?: number;
    };
    output: {
      patterns: {
        id: string;
        agent: string;
        guard?: string;
        action?: string;
        reason: string;
        correct?: string;
        count: number;
        counted: number;
        blocked: number;
        first: string;
        last: string;
        traces: string[];
        proposal?: {
          kind: "guard" | "stricter" | "prompt";
          say: string;
        };
        made?: string;
      }[];
      traces: number;
      threshold: number;
      truncated?: boolean;
    };
  };
  create_guard: {
    input: {
      pattern: string;
      id?: string;
      say?: string;
      next_step?: string;
      commands?: string[];
      paths?: string[];
      adds?: string[];
      tools?: string[];
      agent_id?: string;
    };
    output: {
      id: string;
      pattern: string;
      status: string;
      action: "off" | "warn" | "ask" | "block";
      place: string;
      backtest: {
        calls: number;
        stopped: number;
        fine: number;
        cut?: number;
        fine_ones?: string[];
        others?: string[];
        since?: string;
      };
      next_step: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  guards: {
    input: Record<string, unknown>;
    output: {
      guards: {
        id: string;
        source: string;
        action: "off" | "warn" | "ask" | "block";
        proposed?: boolean;
        dead?: string;
        origin?: string;
        verify?: string;
        say: string;
        next_step?: string;
        health: "alive" | "dead";
        fired: number;
        blocked: number;
        right: number;
        wrong: number;
        lifted: number;
        last_fired?: string;
        bypass?: {
          until: string;
          by: string;
          reason: string;
        };
        backtest?: {
          calls: number;
          would_stop: number;
          allowed_later: number;
        };
      }[];
      mistakes?: {
        file: string;
        line: number;
        column: number;
        message: string;
        suggestion?: string;
      }[];
    };
  };
  guard_promote: {
    input: {
      guard: string;
    };
    output: {
      id: string;
      action: "off" | "warn" | "ask" | "block";
      place: string;
    };
  };
  guard_bypass: {
    input: {
      guard: string;
      minutes: number;
      reason: string;
    };
    output: {
      guard: string;
      until: string;
      by: string;
      reason: string;
    };
  };
  guard_bypass_end: {
    input: {
      guard: string;
    };
    output: {
      guard: string;
    };
  };
  guard_discard: {
    input: {
      guard: string;
      reason: string;
    };
    output: {
      id: string;
    };
  };
  register: {
    input: {
      agent_id?: string;
      capabilities?: string[];
      role?: string;
      description?: string;
    };
    output: {
      agent_id: string;
      capabilities: string[];
      registered_at: string;
      updated: boolean;
      notes?: string[];
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  agents: {
    input: {
      include_gone?: boolean;
    };
    output: {
      agents: {
        agent_id: string;
        capabilities: string[];
        role?: string;
        description?: string;
        liveness: "active" | "idle" | "gone";
        last_active: string;
        registered_at?: string;
        suspicious?: string;
      }[];
      gone: number;
      claims?: {
        id: string;
        agent_id: string;
        session_id?: string;
        paths: string[];
        feature?: string;
        reason: string;
        since: string;
        until: string;
      }[];
      handoffs?: {
        id: string;
        created_at: string;
        source_agent: string;
        target_agent?: string;
        scope: string;
        summary: string;
        results?: {
          description: string;
          status: string;
          artifacts?: string[];
          notes?: string;
        }[];
        context_snapshot?: {
          decision_ids: string[];
          warning_ids: string[];
          finding_ids: string[];
          open_ids?: string[];
          summaries: string[];
        };
        acknowledged_by?: string;
        acknowledged_at?: string;
      }[];
    };
  };
  discover: {
    input: {
      required_capabilities: string[];
      include_gone?: boolean;
      min_score?: number;
    };
    output: {
      agents: {
        agent_id: string;
        score: number;
        matched: string[];
        missing?: string[];
        liveness: "active" | "idle" | "gone";
      }[];
      registered: number;
    };
  };
  delegate: {
    input: {
      summary: string;
      required_capabilities: string[];
      urgency?: "high" | "normal" | "low";
      timeout_ms?: number;
      scope?: string;
      tags?: string[];
      agent_id?: string;
    };
    output: {
      id: string;
      timestamp: string;
      expires_at: string;
      suggested_agents: {
        agent_id: string;
        score: number;
        matched: string[];
        missing?: string[];
        liveness: "active" | "idle" | "gone";
      }[];
      offers?: {
        id: string;
        agent_id: string;
        summary: string;
        matched: string[];
      }[];
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  handoff: {
    input: {
      summary: string;
      results: {
        description: string;
        status: "completed" | "partial" | "blocked" | "failed";
        artifacts?: string[];
        notes?: string;
      }[];
      target_agent?: string;
      scope?: string;
      auto_snapshot?: boolean;
      max_tokens?: number;
      source_agent?: string;
    };
    output: {
      id: string;
      created_at: string;
      path: string;
      entry: string;
      context_snapshot: {
        decision_ids: string[];
        warning_ids: string[];
        finding_ids: string[];
        open_ids?: string[];
        summaries: string[];
      };
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  acknowledge: {
    input: {
      handoff_id: string;
      agent_id?: string;
    };
    output: {
      id: string;
      created_at: string;
      source_agent: string;
      target_agent?: string;
      scope: string;
      summary: string;
      results?: {
        description: string;
        status: string;
        artifacts?: string[];
        notes?: string;
      }[];
      context_snapshot?: {
        decision_ids: string[];
        warning_ids: string[];
        finding_ids: string[];
        open_ids?: string[];
        summaries: string[];
      };
      acknowledged_by?: string;
      acknowledged_at?: string;
    };
  };
  claim: {
    input: {
      paths?: string[];
      feature?: string;
      action?: "claim" | "release" | "list";
      ttl?: string;
      reason?: string;
      agent_id?: string;
    };
    output: {
      claim?: {
        id: string;
        agent_id: string;
        session_id?: string;
        paths: string[];
        feature?: string;
        reason: string;
        since: string;
        until: string;
      };
      released?: string[];
      claims: {
        id: string;
        agent_id: string;
        session_id?: string;
        paths: string[];
        feature?: string;
        reason: string;
        since: string;
        until: string;
      }[];
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  archive: {
    input: {
      before?: string;
      keep_decisions?: boolean;
      summarize?: boolean;
      agent_id?: string;
    };
    output: {
      archived_count: number;
      archive_file: string;
      summary?: string;
      kept_open: number;
      note?: string;
    };
  };
  status: {
    input: {
      scope?: string;
      metrics?: boolean;
    };
    output: {
      project: string;
      scope?: string;
      blackboard_entries: number;
      active_decisions: number;
      provisional_decisions: number;
      graph_entities: number;
      graph_relations: number;
      last_activity: string;
      needs_archiving: boolean;
      superseded_decisions: number;
      overridden_decisions: number;
      open_needs: number;
      unanswered_questions: number;
      open_warnings: number;
      disconnected_entities: number;
      unreadable?: {
        file: string;
        line?: number;
        why: string;
      }[];
      warnings: {
        code: string;
        message: string;
        hint: string;
      }[];
      summary: string;
      search: "keyword" | "semantic" | "hybrid";
      store: string;
      format_version: number;
      registered_agents: number;
      active_agents: number;
      open_handoffs: number;
      claims?: {
        id: string;
        agent_id: string;
        session_id?: string;
        paths: string[];
        feature?: string;
        reason: string;
        since: string;
        until: string;
      }[];
      code?: {
        bound: number;
        states?: Record<string, number>;
        token_rules: number;
      };
      team?: {
        answered_at?: string;
        unsent: number;
        unsent_since?: string;
      };
      metrics?: {
        packs_built: number;
        packs_reused: number;
        largest_pack_nodes: number;
        largest_pack_bytes: number;
        median_pack_ms: number;
        slowest_pack_ms: number;
        knowledge_changes: number;
        nodes_added: number;
        reviews: number;
        merges: number;
        merges_with_conflicts: number;
        stories: Record<string, {
          packs: number;
          reviews: number;
          knowledge_changes: number;
          nodes_added: number;
        }>;
      };
    };
  };
  verify: {
    input: {
      scope?: string;
      checks?: ("test_coverage" | "warnings" | "assembly" | "drift" | "constraints")[];
      agent_id?: string;
    };
    output: {
      scope: string;
      verified_at: string;
      checks: Record<string, {
        status: "skip" | "pass" | "warn" | "fail";
        message: string;
        checked: number;
        items?: {
          id: string;
          summary: string;
          file?: string;
        }[];
        found: number;
      }>;
      summary: string;
      redacted?: {
        field: string;
        kind: string;
      }[];
    };
  };
  export: {
    input: {
      format?: "markdown" | "json" | "madr" | "html" | "mermaid" | "dot";
      scope?: string;
    };
    output: {
      format: string;
      scope: string;
      content: string;
      files?: {
        name: string;
        content: string;
      }[];
      decisions: number;
      entries: number;
      entities: number;
      truncated: boolean;
      written?: string[];
    };
  };
  doctor: {
    input: Record<string, unknown>;
    output: {
      findings: {
        area: string;
        name: string;
        status: "ok" | "unknown" | "warn" | "bad";
        message: string;
        hint?: string;
        command?: string;
      }[];
      summary: string;
    };
  };
}
