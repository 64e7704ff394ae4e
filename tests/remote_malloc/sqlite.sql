-- A table with an index in memory, changed, joined with itself and counted: eleven MB of pages, mostly used in order.
create table entry(number integer, text text, value integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 120000)
  insert into entry select i, printf('%08d is the text of %d', i, i * 7919 % 120000), i * i % 1009 from n;
create index by_text on entry(text);
update entry set value = value + number where number % 3 = 0;
select count(*), sum(value), min(text), max(text) from entry;
select a.number, b.text, a.value from entry a join entry b on b.text = a.text where b.value % 997 = 5 order by a.text;
select value % 10, count(*), sum(number) from entry group by 1;
delete from entry where number % 7 = 0;
select count(*), total(length(text)) from entry where text > '0006';
select * from entry where text like '%of 79__';
