-- Who may do what. A transaction names its tenant; without a name every statement fails, and with
-- one it sees and writes that tenant's rows only.
alter table twining.tenant enable row level security;
alter table twining.tenant force row level security;
alter table twining.repo enable row level security;
alter table twining.repo force row level security;
alter table twining.log enable row level security;
alter table twining.log force row level security;
alter table twining.doc enable row level security;
alter table twining.doc force row level security;
alter table twining.token enable row level security;
alter table twining.token force row level security;
alter table twining.audit enable row level security;
alter table twining.audit force row level security;

create policy of_tenant on twining.tenant to twining_app
    using (id = current_setting('twining.tenant'));
create policy of_tenant on twining.repo to twining_app
    using (tenant = current_setting('twining.tenant'));
create policy of_tenant on twining.log to twining_app
    using (tenant = current_setting('twining.tenant'));
create policy of_tenant on twining.doc to twining_app
    using (tenant = current_setting('twining.tenant'));
create policy of_tenant on twining.audit to twining_app
    using (tenant = current_setting('twining.tenant'));

-- The owner administers these, and finds a tenant before it is named. It reads no log.
create policy of_owner on twining.tenant to twining_owner using (true);
create policy of_owner on twining.repo to twining_owner using (true);
create policy of_owner on twining.token to twining_owner using (true);
create policy of_owner on twining.audit to twining_owner using (true);

grant usage on schema twining to twining_app;
grant select on twining.migration to twining_app;
grant select on twining.tenant to twining_app;
grant select, update (head, planned, records, bytes) on twining.repo to twining_app;
grant select, insert on twining.log to twining_app;
grant select, insert, update (version, at, by, body) on twining.doc to twining_app;
grant insert on twining.audit to twining_app;

-- Times as RFC 3339, so that no client needs a type for them.
create function twining.time_text(at timestamptz) returns text language sql stable
    as $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- What is asked before a tenant is known: a token by its id, a repository by its address, and the
-- heads of repositories by their ids.
create function twining.find_token(token_id text)
    returns table (tenant text, name text, kind text, hash bytea, grants text[], good_for double precision)
    language sql stable security definer set search_path = pg_catalog
    as $$
        select token.tenant, token.name, token.kind, token.hash, token.grants,
               extract(epoch from token.expires_at - now())::double precision
        from twining.token join twining.tenant on tenant.id = token.tenant
        where token.id = token_id and token.revoked_at is null and token.expires_at > now()
          and tenant.state = 'open'
    $$;

create function twining.note_token_use(token_id text) returns void
    language sql security definer set search_path = pg_catalog
    as $$
        update twining.token set used_on = current_date
        where id = token_id and used_on is distinct from current_date
    $$;

create function twining.find_repository(tenant_name text, repo_name text)
    returns table (tenant text, id text, name text, head bigint)
    language sql stable security definer set search_path = pg_catalog
    as $$
        select repo.tenant, repo.id, repo.name, repo.head
        from twining.repo join twining.tenant on tenant.id = repo.tenant
        where tenant.name = tenant_name and repo.name = repo_name
          and tenant.state = 'open' and repo.state <> 'closed'
    $$;

create function twining.repo_heads(repo_ids text[]) returns table (id text, head bigint)
    language sql stable security definer set search_path = pg_catalog
    as $$ select repo.id, repo.head from twining.repo where repo.id = any (repo_ids) $$;

revoke all on function twining.find_token(text), twining.note_token_use(text),
    twining.find_repository(text, text), twining.repo_heads(text[]) from public;
grant execute on function twining.find_token(text), twining.note_token_use(text),
    twining.find_repository(text, text), twining.repo_heads(text[]) to twining_app;
