-- The review of the agent's changes: signs, the way from hunk to hunk, decisions; diffs, undo and redo.

local harness = require('harness')
local equal, contains, with = harness.equal, harness.contains, harness.with

local tests = {}

--- The story's words. `list(file, hunks, more)` says what is changed in a file; `changed()` tells of it. What is asked is kept in `_G.asked`.
local STORY = [[
  _G.asked, _G.lists = _G.asked or {}, _G.lists or {}
  function uri_of(name)
    local found
    wait(function()
      found = vim.iter(vim.tbl_keys(documents)):find(function(uri) return vim.endswith(uri, '/' .. name) end)
      return found
    end)
    return found
  end
  -- Rows from 0, the second one not included.
  function hunk(id, first, behind, old, new, state)
    local function range(from, to)
      return { start = { line = from, character = 0 }, ['end'] = { line = to, character = 0 } }
    end
    return {
      id = id, turn = 't1', state = state or 'undecided', range = range(first, behind), oldRange = range(first, first),
      oldText = old, newText = new,
    }
  end
  function list(uri, hunks, more)
    _G.lists[session] = _G.lists[session] or {}
    local entry = vim.tbl_extend('force', { uri = uri, kind = 'modified', added = 0, removed = 0, hunks = hunks }, more or {})
    for index, file in ipairs(_G.lists[session]) do
      if file.uri == uri then _G.lists[session][index] = entry return end
    end
    table.insert(_G.lists[session], entry)
  end
  function changed(of)
    notify('_copydesk/changed', { sessionId = of or session })
  end
  function ids_of(choice, files)
    local ids = {}
    for _, file in ipairs(files) do
      for _, one in ipairs(file.hunks) do
        if choice == 'all' or vim.list_contains(choice.files or {}, file.uri) or vim.list_contains(choice.hunks or {}, one.id) then
          table.insert(ids, one.id)
        end
      end
    end
    return ids
  end
  function answer(params)
    local files = vim.deepcopy(_G.lists[params.sessionId] or {})
    for _, file in ipairs(files) do
      file.version = file.version or documents[file.uri] and documents[file.uri].version
    end
    return { files = files, added = 0, removed = 0, decided = {}, undecided = {} }
  end
  answers['_copydesk/changes'] = function(params, reply)
    table.insert(_G.asked, params)
    local decided = {}
    for _, verdict in ipairs({ 'accept', 'reject' }) do
      if params[verdict] then
        decided = ids_of(params[verdict], _G.lists[params.sessionId] or {})
        for _, file in ipairs(_G.lists[params.sessionId] or {}) do
          file.hunks = vim.tbl_filter(function(one) return not vim.list_contains(decided, one.id) end, file.hunks)
        end
      end
    end
    local result = answer(params)
    result.decided = decided
    reply(result)
  end
]]

--- Lets the daemon live on with this story, and waits until it is told.
---@param child Child
---@param story string
local function tell(child, story)
  child:lua(
    "_G.stories = (_G.stories or 0) + 1; require('copydesk.session').prompt(...)",
    STORY .. story .. '\nfinish()'
  )
  child:wait("return not require('copydesk.session').running()", 'the end of the story')
end

--- What the story keeps of the requests, by way of a message.
---@param child Child
---@return table[]
local function asked(child)
  tell(child, "notify('window/showMessage', { type = 3, message = 'ASKED' .. vim.json.encode(_G.asked) })")
  local found
  harness.wait(function()
    found = nil
    for _, text in ipairs(child:lua('return _G.told')) do
      found = text:match('ASKED(.*)$') or found
    end
    return found
  end, 'the requests')
  child:lua("_G.told = vim.tbl_filter(function(text) return not text:find('ASKED', 1, true) end, _G.told)")
  return vim.json.decode(found, { luanil = { object = true } })
end

--- The decisions that were sent, in their order.
---@param child Child
---@return table[]
local function decisions(child)
  local found = {}
  for _, params in ipairs(asked(child)) do
    if params.accept or params.reject then
      found[#found + 1] = { session = params.sessionId, accept = params.accept, reject = params.reject }
    end
  end
  return found
end

---@param child Child
---@param expected string[]
---@param what string
---@param name? string
local function signs(child, expected, what, name)
  child:wait_signs(expected, what, name)
end

--- The last cell of the sign column, line by line.
---@param child Child
---@param count integer
---@return string
local function column(child, count)
  child:command('redraw')
  return child:lua(
    [[
    local at = vim.fn.win_screenpos(0)
    local found = {}
    for row = at[1], at[1] + ... - 1 do
      local cell = vim.fn.screenstring(row, at[2])
      found[#found + 1] = cell == ' ' and '.' or cell
    end
    return table.concat(found)
  ]],
    count
  )
end

---@param child Child
---@return { [1]: string, [2]: integer } The file's name and the line.
local function place(child)
  return child:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }")
end

---@param child Child
---@return string[]
local function quickfix(child)
  return child:lua([[
    return vim.tbl_map(function(item)
      return ('%s:%d %s'):format(vim.fn.bufname(item.bufnr), item.lnum, item.text)
    end, vim.fn.getqflist())
  ]])
end

local SIX = 'one\ntwo\nthree\nfour\nfive\nsix\n'

function tests.r4_2_undecided_hunks_have_signs_also_where_lines_are_gone_at_the_top_and_the_end()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      list(uri_of('a.txt'), {
        hunk(1, 0, 0, 'zero\n', ''), hunk(2, 1, 3, '', 'two\nthree\n'), hunk(3, 3, 4, 'vier\n', 'four\n'),
        hunk(4, 5, 5, 'gone\n', ''), hunk(5, 5, 6, 'x\n', 'six\n', 'accepted'), hunk(6, 6, 6, 'seven\n', ''),
        hunk(7, 5, 6, 'y\n', 'six\n', 'outdated'),
      })
      changed()
    ]]
    )
    signs(child, { '0:‾', '1-2:+', '3:~', '4:_', '5:_' }, 'the marks of what is undecided')
    equal(column(child, 6), '‾++~__', 'the sign column')
    contains(child:lua("return require('copydesk').statusline()"), '5 hunks', 'the status line')
    equal(
      child:lua("return vim.api.nvim_get_hl(0, { name = 'CopydeskAdded' }).link"),
      'Added',
      'a highlight group that can be set'
    )
  end)
end

function tests.r4_2_signs_follow_the_typing_and_the_list_is_asked_for_again()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\\n', 'two\\n'), hunk(2, 4, 5, '', 'five\\n') }) changed()")
    signs(child, { '1:~', '4:+' }, 'as listed')
    local before = #asked(child)
    child:type('ggOnew<CR>lines')
    signs(child, { '3:~', '6:+' }, 'they follow')
    child:lua("vim.cmd('silent! sleep 300m')")
    equal(#asked(child), before, 'nothing is asked in Insert mode')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 3, 5, 'zwei\\n', 'two\\nthree\\n') })")
    child:type('<Esc>')
    signs(child, { '3-4:~' }, 'as listed for the new text')
    child:type('u')
    child:wait('return vim.api.nvim_buf_line_count(0) == 6', 'the undo')
    harness.wait(function()
      return #asked(child) > before + 1
    end, 'another request, for the text after the undo')
  end)
end

function tests.typing_does_not_look_for_each_file_of_the_list_on_the_disk()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      local uri = uri_of('a.txt')
      for number = 1, 100 do
        list((uri:gsub('a.txt$', number .. '.txt')), { hunk(number + 1, 0, 1, '', 'x\n') })
      end
      list(uri, { hunk(1, 1, 2, 'zwei\n', 'two\n') })
      changed()
    ]]
    )
    signs(child, { '1:~' }, 'as listed')
    child:lua([[
      _G.looked, _G.sent = 0, 0
      local realpath = vim.uv.fs_realpath
      vim.uv.fs_realpath = function(...)
        _G.looked = _G.looked + 1
        return realpath(...)
      end
      vim.api.nvim_create_autocmd('LspNotify', { callback = function(event)
        if event.data.method == 'textDocument/didChange' then _G.sent = _G.sent + 1 end
      end })
    ]])
    child:type('ix')
    child:wait('return _G.sent > 0', 'the change')
    local looked = child:lua('return _G.looked')
    assert(looked < 10, ('looked %d times'):format(looked))
  end)
end

function tests.r4_2_a_list_of_another_version_places_nothing_and_takes_away_what_is_decided()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\\n', 'two\\n'), hunk(2, 4, 5, '', 'five\\n') }) changed()")
    signs(child, { '1:~', '4:+' }, 'as listed')
    tell(
      child,
      [[
      local uri = uri_of('a.txt')
      list(uri, { hunk(2, 0, 1, '', 'five\n'), hunk(3, 2, 3, '', 'three\n') }, { version = documents[uri].version - 1 })
      changed()
    ]]
    )
    signs(child, { '4:+' }, 'the first is decided, the second stays where it is, the third is of another text')
    tell(child, "list(uri_of('a.txt'), { hunk(2, 4, 5, '', 'five\\n'), hunk(3, 2, 3, '', 'three\\n') }) changed()")
    signs(child, { '2:+', '4:+' }, 'of this text')
  end)
end

function tests.r4_2_an_answer_that_comes_behind_a_later_one_is_not_taken()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\\n', 'two\\n'), hunk(2, 4, 5, '', 'five\\n') }) changed()")
    signs(child, { '1:~', '4:+' }, 'as listed')
    -- The list is held back, a decision overtakes it.
    tell(
      child,
      [[
      local before = answers['_copydesk/changes']
      answers['_copydesk/changes'] = function(params, reply)
        if params.accept then
          before(params, reply)
          vim.schedule(_G.held)
          answers['_copydesk/changes'] = before
        else
          local old = answer(params)
          _G.held = function() reply(old) end
        end
      end
      changed()
    ]]
    )
    child:command('2 | CopydeskAccept')
    signs(child, { '4:+' }, 'the later answer holds')
    child:lua("vim.cmd('silent! sleep 100m')")
    signs(child, { '4:+' }, 'still')
  end)
end

function tests.r4_2_next_and_previous_walk_over_all_files_and_open_folds()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = SIX, ['c.txt'] = SIX } }, function(child)
    child:command('edit b.txt')
    child:command('edit a.txt')
    tell(
      child,
      [[
      list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\n', 'two\n'), hunk(2, 4, 6, '', 'five\nsix\n') })
      list(uri_of('b.txt'), { hunk(3, 6, 6, 'seven\n', '') })
      list((uri_of('b.txt'):gsub('b.txt$', 'gone.txt')), { hunk(4, 0, 0, 'x\n', '') }, { kind = 'deleted' })
      list((uri_of('b.txt'):gsub('b.txt$', 'c.txt')), { hunk(5, 2, 3, '', 'three\n') })
      changed()
    ]]
    )
    signs(child, { '1:~', '4-5:+' }, 'the signs')
    child:command('setlocal foldmethod=manual | 4,6fold | 1')
    local seen = {}
    for _ = 1, 5 do
      child:command('CopydeskNext')
      seen[#seen + 1] = place(child)
    end
    equal(seen, { { 'a.txt', 2 }, { 'a.txt', 5 }, { 'b.txt', 6 }, { 'c.txt', 3 }, { 'a.txt', 2 } }, 'around')
    child:command('5')
    equal(child:lua('return vim.fn.foldclosed(5)'), -1, 'the fold was opened')
    child:command('3')
    local back = {}
    for _ = 1, 4 do
      child:command('CopydeskPrevious')
      back[#back + 1] = place(child)
    end
    equal(back, { { 'a.txt', 2 }, { 'c.txt', 3 }, { 'b.txt', 6 }, { 'a.txt', 5 } }, 'and back')
    child:command('1 | 2CopydeskNext')
    equal(place(child), { 'a.txt', 5 }, 'with a count')
    child:command('1 | 1000000002CopydeskPrevious')
    equal(place(child), { 'b.txt', 6 }, 'with any count')
    child:type('<C-o>')
    equal(place(child), { 'a.txt', 1 }, 'the jump list')
    -- From the conversation, whose window keeps its buffer.
    child:command('CopydeskChat')
    child:command('CopydeskNext')
    equal(place(child), { 'a.txt', 2 }, 'beside the conversation')
    equal(child:lua("return require('copydesk.chat').window() ~= nil"), true, 'which is still shown')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.r4_2_hunks_are_accepted_and_rejected_at_the_cursor_by_range_by_file_and_all()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = SIX } }, function(child)
    child:command('edit b.txt')
    child:command('edit a.txt')
    local function fill()
      tell(
        child,
        [[
        list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\n', 'two\n'), hunk(2, 3, 4, '', 'four\n'), hunk(3, 5, 6, '', 'six\n') })
        list(uri_of('b.txt'), { hunk(4, 6, 6, 'seven\n', '') })
        changed()
      ]]
      )
      signs(child, { '1:~', '3:+', '5:+' }, 'the signs')
    end
    local a, b = vim.uri_from_fname(child.workspace .. '/a.txt'), vim.uri_from_fname(child.workspace .. '/b.txt')
    fill()
    child:command('2 | CopydeskAccept')
    signs(child, { '3:+', '5:+' }, 'accepted at the cursor')
    child:command('4,6CopydeskReject')
    signs(child, {}, 'rejected by range')
    fill()
    child:command('CopydeskReject file')
    signs(child, {}, 'rejected by file')
    signs(child, { '5:_' }, 'the other file', 'b.txt')
    child:command('CopydeskAccept b.txt')
    signs(child, {}, 'accepted by name', 'b.txt')
    fill()
    child:command('CopydeskReject all')
    signs(child, {}, 'all')
    equal(decisions(child), {
      { session = 's1', accept = { hunks = { 1 } } },
      { session = 's1', reject = { hunks = { 2, 3 } } },
      { session = 's1', reject = { files = { a } } },
      { session = 's1', accept = { files = { b } } },
      { session = 's1', reject = { files = { a, b } } },
    }, 'what was sent')
    equal(child:lua('return _G.told'), {
      'Copydesk: 2 hunks rejected',
      'Copydesk: 3 hunks rejected',
      'Copydesk: 1 hunk accepted',
      'Copydesk: 4 hunks rejected',
    }, 'what was told')
    equal(
      child:lua("return require('copydesk').statusline():find('hunk', 1, true)"),
      vim.NIL,
      'nothing in the status line'
    )
  end)
end

function tests.r4_2_what_could_not_be_decided_is_told()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\n', 'two\n') })
      changed()
      local before = answers['_copydesk/changes']
      answers['_copydesk/changes'] = function(params, reply)
        if params.reject then
          local result = answer(params)
          result.undecided = { { id = 1, why = 'conflict', reason = 'line 2 has been changed by you' } }
          reply(result)
        elseif params.accept then
          reply(nil, { code = -32803, message = 'the store is full' })
        else
          before(params, reply)
        end
      end
    ]]
    )
    signs(child, { '1:~' }, 'the sign')
    child:command('2 | CopydeskReject')
    child:wait('return #_G.told == 1', 'the report')
    child:command('2 | CopydeskAccept')
    child:wait('return #_G.told == 2', 'the error')
    equal(child:lua('return _G.told'), {
      'Copydesk: not rejected: line 2 has been changed by you',
      'Copydesk: the changes were not accepted: the store is full',
    }, 'what was told')
    signs(child, { '1:~' }, 'it is still undecided')
    child:command('4 | CopydeskReject')
    contains(child:told(), 'there is no hunk here; :CopydeskNext leads to one', 'no hunk')
    child:command('5,6CopydeskReject')
    contains(child:told(), 'there is no hunk in these lines', 'no hunk in the range')
    child:command('CopydeskReject other.txt')
    contains(child:told(), 'there are no changes to decide on in other.txt', 'no such file')
    -- A name may come from the agent, by completion: it is a name and nothing else.
    child:command('CopydeskReject `touch made.txt`')
    equal(vim.uv.fs_stat(child.workspace .. '/made.txt'), nil, 'nothing was run')
  end)
end

function tests.r4_2_a_rejected_hunk_is_one_undo_step_and_the_rest_stays_in_its_place()
  with({ files = { ['a.txt'] = 'one\nNEW\nNEW\ntwo\nTHREE\n' } }, function(child)
    child:command('edit a.txt')
    child:type('Otyped<Esc>')
    -- The edit of a rejection is a request, which a story makes while it runs.
    child:prompt(STORY .. [[
      local uri = uri_of('a.txt')
      list(uri, { hunk(1, 2, 4, '', 'NEW\nNEW\n'), hunk(2, 5, 6, 'three\n', 'THREE\n') })
      local before, done = answers['_copydesk/changes'], nil
      answers['_copydesk/changes'] = function(params, reply)
        if not params.reject then return before(params, reply) end
        done = function()
          list(uri, { hunk(2, 3, 4, 'three\n', 'THREE\n') })
          reply(vim.tbl_extend('force', answer(params), { decided = { 1 } }))
        end
      end
      changed()
      wait(function() return done end)
      local range = { start = { line = 2, character = 0 }, ['end'] = { line = 4, character = 0 } }
      edit(uri, documents[uri].version, { { range = range, newText = '' } })
      done()
      finish()
    ]])
    child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('a.txt'))")
    signs(child, { '2-3:+', '5:~' }, 'the signs')
    child:command('3 | CopydeskReject')
    signs(child, { '3:~' }, 'the other one, on its own text')
    equal(child:lines(), { 'typed', 'one', 'two', 'THREE' }, 'the text')
    child:type('u')
    equal(child:lines(), { 'typed', 'one', 'NEW', 'NEW', 'two', 'THREE' }, 'one undo')
    child:type('u')
    equal(child:lines(), { 'one', 'NEW', 'NEW', 'two', 'THREE' }, 'the typing is a step of its own')
  end)
end

function tests.r6_5_hunks_of_two_conversations_stand_beside_each_other()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 0, 1, '', 'one\\n') }) changed()")
    signs(child, { '0:+' }, 'of the first')
    child:command('CopydeskNew')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 3, 4, 'vier\\n', 'four\\n') }) changed()")
    signs(child, { '0:+', '3:~' }, 'of both')
    contains(child:lua("return require('copydesk').statusline()"), '2 hunks', 'the status line')
    child:command('CopydeskChanges')
    equal(quickfix(child), { 'a.txt:1 + one', 'a.txt:4 + four' }, 'each where it stands')
    child:command('cclose')
    child:command('1 | CopydeskAccept')
    signs(child, { '3:~' }, 'the first has none any more')
    tell(child, "session = 's1' list(uri_of('a.txt'), { hunk(2, 5, 6, '', 'six\\n') }) changed('s1')")
    signs(child, { '3:~', '5:+' }, 'another one')
    child:command('%CopydeskReject')
    signs(child, {}, 'both')
    local sent = decisions(child)
    table.sort(sent, function(one, other)
      return one.accept ~= nil or not other.accept and one.session < other.session
    end)
    equal(sent, {
      { session = 's1', accept = { hunks = { 1 } } },
      { session = 's1', reject = { hunks = { 2 } } },
      { session = 's2', reject = { hunks = { 1 } } },
    }, 'each to its own')
    contains(child:told(), '2 hunks rejected', 'told once')
    tell(child, "session = 's1' list(uri_of('a.txt'), { hunk(3, 1, 1, '', '') }) changed('s1')")
    signs(child, { '1:+' }, 'a hunk of nothing, as of an empty file')
    tell(
      child,
      [[
      answers['_copydesk/changes'] = function(_, reply) reply(nil, { code = -32002, message = 'no such session' }) end
      changed('s1')
    ]]
    )
    signs(child, {}, 'a session that is gone has no hunks')
  end)
end

function tests.r4_2_signs_come_back_with_a_buffer_that_was_unloaded_read_again_or_hidden()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = 'other\n' } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      _G.uri = uri_of('a.txt')
      list(_G.uri, { hunk(1, 1, 2, 'zwei\n', 'two\n') })
      changed()
    ]]
    )
    signs(child, { '1:~' }, 'the sign')
    child:command('edit!')
    signs(child, { '1:~' }, 'read again')
    child:command('edit b.txt')
    signs(child, { '1:~' }, 'hidden', 'a.txt')
    tell(child, "list(_G.uri, { hunk(1, 1, 2, 'zwei\\n', 'two\\n'), hunk(2, 4, 5, '', 'five\\n') }) changed()")
    signs(child, { '1:~', '4:+' }, 'told while it is hidden', 'a.txt')
    child:command('bunload a.txt')
    signs(child, {}, 'unloaded', 'a.txt')
    child:command('CopydeskNext')
    equal(place(child), { 'a.txt', 2 }, 'opened by its name')
    signs(child, { '1:~', '4:+' }, 'loaded again')
    child:command('edit b.txt | bwipeout a.txt')
    tell(child, "list(_G.uri, { hunk(2, 4, 5, '', 'five\\n') }) changed()")
    child:command('edit a.txt')
    signs(child, { '4:+' }, 'wiped out and opened again')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.a_buffer_that_gets_another_name_is_another_document()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(child, "_G.uri = uri_of('a.txt') list(_G.uri, { hunk(1, 1, 2, 'zwei\\n', 'two\\n') }) changed()")
    signs(child, { '1:~' }, 'the sign')
    child:command('file renamed.txt')
    tell(child, "wait(function() return not documents[_G.uri] end) uri_of('renamed.txt') changed()")
    signs(child, {}, 'the hunk is not of this file')
    child:command('CopydeskNext')
    equal(place(child), { 'a.txt', 2 }, 'the file itself')
    signs(child, { '1:~' }, 'its sign')
    child:command('buffer renamed.txt | silent saveas third.txt')
    tell(
      child,
      [[
      local uri = uri_of('third.txt')
      wait(function() return not vim.iter(vim.tbl_keys(documents)):any(function(one) return vim.endswith(one, 'renamed.txt') end) end)
      list(uri, { hunk(5, 0, 1, '', 'one\n') })
      changed()
    ]]
    )
    signs(child, { '0:+' }, 'saved under another name')
    child:type('Goend<Esc>')
    tell(child, "local uri = uri_of('third.txt') wait(function() return documents[uri].text:find('end') end)")
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.r1_2_crlf_and_a_missing_last_line_break_do_not_move_signs()
  with({ files = { ['a.txt'] = 'one\r\ntwo\r\nthree' } }, function(child)
    child:command('edit a.txt')
    equal(child:lua('return vim.bo.fileformat'), 'dos', 'the line endings')
    tell(
      child,
      [[
      local last = hunk(2, 2, 2, 'drei', 'three')
      last.range['end'].character = 5
      list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\r\n', 'two\r\n'), last })
      changed()
    ]]
    )
    signs(child, { '1:~', '2:~' }, 'the signs')
    child:type('2G:CopydeskHunk<CR>')
    equal(
      child:wait(
        [[
        for _, window in ipairs(vim.api.nvim_list_wins()) do
          if vim.api.nvim_win_get_config(window).relative ~= '' then
            local buffer = vim.api.nvim_win_get_buf(window)
            return { vim.bo[buffer].filetype, unpack(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) }
          end
        end
      ]],
        'the window'
      ),
      { 'diff', '-zwei', '+two' },
      'what was there and what is'
    )
    child:type('j')
    child:wait('return #vim.api.nvim_tabpage_list_wins(0) == 1', 'the window goes with the next move')
  end)
end

function tests.keys_are_mapped_where_hunks_are_and_never_over_the_users_own()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = 'other\n' } }, function(child)
    child:command('edit b.txt')
    child:command('edit a.txt')
    child:command('nnoremap <leader>ha :let g:mine = 1<CR>')
    child:command('nnoremap <leader>hRx :let g:mine = 2<CR>')
    local function keys(name)
      return child:lua(
        [[
        return vim.api.nvim_buf_call(vim.fn.bufnr(...), function()
          local found = {}
          for _, lhs in ipairs({ ']h', '[h', '<leader>hp', '<leader>ha', '<leader>hr', '<leader>hA', '<leader>hR' }) do
            local map = vim.fn.maparg(lhs, 'n', false, true)
            if map.buffer == 1 then found[#found + 1] = lhs end
          end
          return found
        end)
      ]],
        name
      )
    end
    equal(keys('a.txt'), {}, 'none at first')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 1, 3, 'zwei\\n', 'two\\n'), hunk(2, 4, 5, '', 'five\\n') }) changed()")
    signs(child, { '1-2:~', '4:+' }, 'the signs')
    equal(keys('a.txt'), { ']h', '[h', '<leader>hp', '<leader>hr', '<leader>hA' }, 'those that were free')
    equal(keys('b.txt'), {}, 'none elsewhere')
    child:type('gg]h')
    child:wait("return vim.fn.line('.') == 2", 'the next hunk')
    child:type('2]h')
    child:wait("return vim.fn.line('.') == 2", 'around')
    child:type('Vj\\hr')
    signs(child, { '4:+' }, 'rejected by a Visual area')
    child:command('nmap <buffer> ]h :let g:mine = 3<CR>')
    child:command('CopydeskAccept all')
    signs(child, {}, 'no signs')
    equal(keys('a.txt'), { ']h' }, "the user's own is left alone")
    child:lua("require('copydesk').setup({ keymaps = { changes = { next = false, reject = '<F2>' } } })")
    tell(child, "list(uri_of('a.txt'), { hunk(3, 1, 3, 'zwei\\n', 'two\\n') }) changed()")
    signs(child, { '1-2:~' }, 'the signs')
    equal(child:lua("return vim.fn.maparg('<F2>', 'n')"), '<Plug>(copydesk-reject)', 'another key')
    child:command('2')
    child:type('<F2>')
    signs(child, {}, 'rejected')
    for _, off in ipairs({ 'keymaps = false', 'keymaps = { changes = false }' }) do
      child:lua(
        ('return require("copydesk.config").set({ cmd = require("copydesk.config").get().cmd, %s })'):format(off)
      )
      tell(child, "list(uri_of('a.txt'), { hunk(4, 1, 3, 'zwei\\n', 'two\\n') }) changed()")
      signs(child, { '1-2:~' }, 'the signs')
      equal(keys('a.txt'), { ']h' }, off)
      child:command('CopydeskAccept all')
      signs(child, {}, 'no signs')
    end
    equal(
      child:lua(
        "return require('copydesk.config').check({ keymaps = true, changes = { signs = { add = 'long', delete = false } } })"
      ),
      { '`changes.signs.add` must be one or two cells wide, or false', '`keymaps` must be a table or false' },
      'what is wrong with options'
    )
  end)
end

function tests.without_a_daemon_or_a_conversation_each_command_says_so()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    local function told(command)
      child:lua('_G.told = {}')
      child:command(command)
      return child:told()
    end
    local none = 'Copydesk: there are no changes to decide on'
    for _, command in ipairs({ 'Next', 'Previous', 'Accept', 'Reject all', 'Hunk', 'Changes' }) do
      equal(told('Copydesk' .. command), none, command)
    end
    equal(
      told('CopydeskDiff'),
      'Copydesk: there is no diff to show yet; :CopydeskSessions goes on with an earlier conversation',
      'diff'
    )
    local undo = 'Copydesk: there is nothing to take back yet; :CopydeskSessions goes on with an earlier conversation'
    equal({ told('CopydeskUndo'), told('CopydeskRedo') }, { undo, undo }, 'undo and redo')
    equal(told('CopydeskDiff nonsense'), 'Copydesk: "nonsense" is no kind of diff: turn, session, head', 'a wrong word')
    equal(child:lua('return #vim.lsp.get_clients()'), 0, 'nothing was started for it')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.a_daemon_that_is_older_is_said_to_be()
  local offer = harness.offer({ methods = { '_copydesk/grants' } })
  with({ files = { ['a.txt'] = SIX }, env = { FAKE_OFFER = offer } }, function(child)
    child:command('edit a.txt')
    tell(child, '')
    child:command('CopydeskNext')
    contains(child:told(), 'this daemon does not list its changes: update it', 'no list')
    child:command('CopydeskUndo')
    child:wait('return #_G.told == 2', 'the answer')
    contains(child:told(), 'this daemon does not know `_copydesk/undo`: update it', 'no undo')
    child:command('CopydeskDiff')
    child:wait('return #_G.told == 3', 'the answer')
    contains(child:told(), 'this daemon does not know `_copydesk/diff`: update it', 'no diff')
    child:command('checkhealth copydesk')
    contains(table.concat(child:lines(), '\n'), 'lacks _copydesk/changes, _copydesk/diff, _copydesk/undo', 'its health')
  end)
end

function tests.r12_4_after_a_crash_the_conversation_is_taken_up_again_with_its_hunks()
  local offer = harness.offer({
    agentCapabilities = { sessionCapabilities = { resume = vim.empty_dict() } },
    methods = { '_copydesk/changes', '_copydesk/undo' },
  })
  local setup = { restart = { attempts = 1, delay = 10 } }
  with({ files = { ['a.txt'] = SIX }, env = { FAKE_OFFER = offer }, setup = setup }, function(child)
    child:command('edit a.txt')
    tell(child, "list(uri_of('a.txt'), { hunk(1, 1, 2, 'zwei\\n', 'two\\n') }) changed()")
    signs(child, { '1:~' }, 'the sign')
    child:lua('vim.env.FAKE_START = ...', STORY .. [[
      answers['session/resume'] = function(params, reply)
        if params.sessionId ~= 's1' then return reply(nil, { code = -32002, message = 'no such session' }) end
        reply({ modes = { currentModeId = 'plan', availableModes = { { id = 'plan', name = 'Plan' } } } })
      end
      answers['_copydesk/undo'] = function(params, reply)
        reply({ title = 'x', files = {}, added = 0, removed = 0, text = 'undone in ' .. params.sessionId })
      end
      answers['_copydesk/changes'] = function(params, reply)
        local uri = next(documents)
        reply({ files = { { uri = uri, kind = 'modified', version = documents[uri].version, hunks = { hunk(9, 4, 5, '', 'five\n') } } } })
      end
    ]])
    child:prompt('die(7)')
    child:wait_chat('interrupted')
    signs(child, {}, 'nobody answers for them')
    child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
    child:command('CopydeskUndo')
    child:wait('return vim.iter(_G.told):any(function(text) return text:find("undone in s1", 1, true) end)', 'the undo')
    signs(child, { '4:+' }, 'as the next daemon has them')
    equal(child:lua("return require('copydesk.choices').chosen('mode')"), 'plan', 'the mode of the conversation')
  end)
end

function tests.a_conversation_that_cannot_be_taken_up_again_is_said_to_be_new()
  local setup = { restart = { attempts = 1, delay = 10 } }
  with({ files = { ['a.txt'] = SIX }, setup = setup }, function(child)
    child:command('edit a.txt')
    tell(child, '')
    child:prompt('die(7)')
    child:wait_chat('interrupted')
    child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
    child:prompt("say('here') finish()")
    child:wait_chat('here')
    contains(
      child:chat(),
      'this conversation could not be taken up again (the daemon has forgotten it): a new one begins',
      'what is shown'
    )
  end)
end

function tests.r5_3_undo_and_redo_are_sent_once_and_tell_of_conflicts()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    child:lua("vim.notify = function(text, level) table.insert(_G.told, ('%d %s'):format(level, text)) end")
    tell(
      child,
      [[
      update({ sessionUpdate = 'tool_call', toolCallId = 'c7', title = 'Edit a.txt', kind = 'edit', status = 'completed' })
      answers['_copydesk/undo'] = function(params, reply)
        table.insert(_G.asked, params)
        if params.what == 'redo' then
          return reply(nil, { code = -32803, message = 'nothing was taken back' })
        end
        local outcome = params.what == 'last' and 'conflict' or 'restored'
        _G.undo = function()
          reply({ turn = 't1', title = 'go', files = { { uri = 'file:///a', outcome = outcome } }, added = 0, removed = 1,
            text = 'Took back "go": ' .. outcome })
        end
        if params.what ~= 'last' then _G.undo() end
      end
    ]]
    )
    child:command('CopydeskUndo')
    child:command('CopydeskUndo')
    contains(child:told(), 'it is being done already', 'the second one is not sent')
    child:lua("require('copydesk.session').prompt('_G.undo() finish()')")
    child:wait('return #_G.told == 2', 'the report')
    child:command('CopydeskRedo')
    child:wait('return #_G.told == 3', 'the error')
    child:command('CopydeskChat')
    child:command('normal! gg')
    child:type('u')
    child:wait('return #_G.told == 4', 'no call on this line')
    child:lua('vim.fn.search([[^\\[x\\] Edit a.txt]])')
    child:type('u')
    child:wait('return #_G.told == 5', 'the report of the call')
    equal(child:lua('return _G.told'), {
      ('%d Copydesk: it is being done already'):format(vim.log.levels.INFO),
      ('%d Copydesk: Took back "go": conflict'):format(vim.log.levels.WARN),
      ('%d Copydesk: nothing was changed: nothing was taken back'):format(vim.log.levels.ERROR),
      ('%d Copydesk: there is no tool call here; :CopydeskUndo takes back the last turn'):format(vim.log.levels.INFO),
      ('%d Copydesk: taken back: "go": /a restored'):format(vim.log.levels.INFO),
    }, 'what was told')
    local sent = {}
    for _, params in ipairs(asked(child)) do
      sent[#sent + 1] = params.what
    end
    equal(sent, { 'last', 'redo', { call = 'c7' } }, 'what was sent')
  end)
end

function tests.the_diff_of_a_turn_leads_to_its_lines()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      local a = uri_of('a.txt')
      local b = a:gsub('a.txt$', 'b.txt')
      local gone = a:gsub('a.txt$', 'gone.txt')
      answers['_copydesk/diff'] = function(params, reply)
        if params.of == 'head' then return reply({ diff = '', files = {}, added = 0, removed = 0 }) end
        local diff = 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-zwei\n+two\n three\n'
          .. 'diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n'
          .. 'diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n--- a/b.txt\n+++ b/b.txt\n@@ -3,2 +3,3 @@\n three\n+--- four\n five\n\\ No newline at end of file\n'
        diff = diff .. 'diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n'
        reply({ diff = diff, added = 2, removed = 2, files = {
          { uri = a, kind = 'modified', added = 1, removed = 1 }, { uri = a:gsub('a.txt$', 'i.png'), kind = 'modified', binary = true, added = 0, removed = 0 },
          { uri = b, kind = 'modified', added = 1, removed = 0 },
          { uri = gone, kind = 'deleted', added = 0, removed = 1 } } })
      end
    ]]
    )
    child:command('vertical CopydeskDiff')
    child:wait("return vim.bo.filetype == 'diff'", 'the diff')
    equal(
      child:lua('return { vim.bo.modifiable, vim.bo.buftype, #vim.api.nvim_tabpage_list_wins(0) }'),
      { false, 'nofile', 2 },
      'the buffer'
    )
    local found = {}
    for line = 1, #child:lines() do
      child:command(('%d'):format(line))
      child:lua('_G.told = {}')
      child:type('<CR>')
      found[line] = child:wait(
        [[
        return #_G.told > 0 and _G.told[1]
          or vim.bo.filetype ~= 'diff' and vim.fn.expand('%:t') .. ' ' .. vim.fn.line('.')
      ]],
        'the place'
      )
      child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('copydesk://diff/turn'))")
    end
    local gone, binary = 'Copydesk: the file is not there any more', 'Copydesk: the file is no text'
    -- stylua: ignore
    equal(found, {
      'a.txt 1', 'a.txt 1', 'a.txt 1', 'a.txt 1', 'a.txt 1', 'a.txt 2', 'a.txt 2', 'a.txt 3',
      binary, binary,
      'b.txt 1', 'b.txt 1', 'b.txt 1', 'b.txt 1', 'b.txt 1', 'b.txt 3', 'b.txt 3', 'b.txt 4', 'b.txt 5', 'b.txt 5',
      gone, gone, gone, gone, gone, gone,
    }, 'where each line leads')
    child:lua('_G.told = {}')
    child:command('CopydeskDiff session')
    child:wait("return vim.api.nvim_buf_get_name(0):find('session')", 'another one')
    child:command('CopydeskDiff session')
    child:lua("vim.cmd('silent! sleep 50m')")
    equal(child:lua('return #vim.api.nvim_tabpage_list_wins(0)'), 3, 'shown again in its window')
    child:type('q')
    child:wait('return #vim.api.nvim_tabpage_list_wins(0) == 2', 'closed')
    child:command('CopydeskDiff head')
    child:wait('return #_G.told > 0', 'nothing to show')
    equal(child:told(), "Copydesk: nothing differs: Git's HEAD", 'what is told')
  end)
end

function tests.all_that_is_undecided_is_listed_in_the_quickfix_window()
  with({ files = { ['a.txt'] = SIX } }, function(child)
    child:command('edit a.txt')
    tell(
      child,
      [[
      local a = uri_of('a.txt')
      list(a, { hunk(1, 1, 2, 'zwei\n', 'two\n'), hunk(2, 4, 4, 'viereinhalb\n', '') })
      list((a:gsub('a.txt$', 'gone.txt')), { hunk(3, 0, 0, 'x\n', '') }, { kind = 'deleted' })
      list((a:gsub('a.txt$', 'i.png')), { hunk(4, 0, 0, '', '') }, { kind = 'created', binary = true })
      changed()
    ]]
    )
    signs(child, { '1:~', '3:_' }, 'the signs')
    child:type('Oabove<Esc>')
    child:command('CopydeskChanges')
    equal(
      quickfix(child),
      { 'a.txt:3 + two', 'a.txt:5 - viereinhalb', 'gone.txt:1 deleted', 'i.png:1 created, no text' },
      'the list'
    )
    child:command('CopydeskReject gone.txt')
    child:wait('return #_G.told == 1', 'the report')
    child:command('CopydeskAccept i.png')
    child:wait('return #_G.told == 2', 'the report')
    equal(child:lua('return _G.told'), { 'Copydesk: 1 hunk rejected', 'Copydesk: 1 hunk accepted' }, 'decided by name')
    equal(
      child:lua("return vim.fn.getcompletion('CopydeskAccept ', 'cmdline')"),
      { 'file', 'all', 'a.txt' },
      'the completion'
    )
  end)
end

function tests.what_was_typed_is_told_before_a_request_also_in_buffers_that_are_hidden()
  with({ files = { ['a.txt'] = SIX, ['b.txt'] = 'other\n' } }, function(child)
    child:command('edit a.txt')
    tell(child, "uri_of('a.txt')")
    child:lua([[
      vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'typed' })
      vim.cmd('edit b.txt')
      require('copydesk').prompt("local text for uri, document in pairs(documents) do if uri:match('a.txt$') then text = document.text end end"
        .. " say('KNOWN ' .. text:gsub('\\n', '|')) finish()")
    ]])
    child:wait_chat('KNOWN typed|two|')
  end)
end

return tests
