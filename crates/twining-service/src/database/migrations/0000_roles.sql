-- Roles and schema. Carried out whenever the schema is brought up to date, by the login that asks
-- for it: only the first time does it need the right to make roles.
do $$
begin
    if not exists (select from pg_roles where rolname = 'twining_owner') then
        create role twining_owner nologin;
    end if;
    if not exists (select from pg_roles where rolname = 'twining_app') then
        create role twining_app login;
    end if;
exception
    -- Roles belong to the whole server: another database may be set up at the same time.
    when duplicate_object or unique_violation then null;
end
$$;

do $$
begin
    if not pg_has_role(session_user, 'twining_owner', 'member') then
        execute format('grant twining_owner to %I', session_user);
    end if;
    if not exists (select from pg_namespace where nspname = 'twining') then
        create schema twining;
        alter schema twining owner to twining_owner;
    end if;
end
$$;
