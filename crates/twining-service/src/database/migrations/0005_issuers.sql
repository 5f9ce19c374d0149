-- Who may issue access tokens for a tenant by OAuth, and the most that such a token may do where.
create table twining.issuer (
    tenant text collate "C" not null references twining.tenant,
    id text collate "C" not null unique check (length(id) = 26),
    name text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    url text collate "C" not null,
    jwks text collate "C" not null,
    kind text not null check (kind in ('agent', 'person', 'machine')),
    grants text[] not null,
    made_at timestamptz not null default now(),
    primary key (tenant, id),
    unique (tenant, name),
    unique (tenant, url)
);

alter table twining.issuer enable row level security;
alter table twining.issuer force row level security;
create policy of_owner on twining.issuer to twining_owner using (true);

-- Asked before a tenant is known, by the name in an address.
create function twining.find_issuers(tenant_name text)
    returns table (tenant text, id text, name text, url text, jwks text, kind text, grants text[])
    language sql stable security definer set search_path = pg_catalog
    as $$
        select issuer.tenant, issuer.id, issuer.name, issuer.url, issuer.jwks, issuer.kind,
               issuer.grants
        from twining.issuer join twining.tenant on tenant.id = issuer.tenant
        where tenant.name = tenant_name and tenant.state = 'open'
        order by issuer.id
    $$;

revoke all on function twining.find_issuers(text) from public;
grant execute on function twining.find_issuers(text) to twining_app;
