-- Edits of the daemon in the user's buffers: versions, undo, the cursor, and the user who goes on typing.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains

local tests = {}

---@param text string
---@param test fun(child: Child)
---@param more? table<string, string>
local function with(text, test, more)
  harness.with({ files = vim.tbl_extend('force', { ['a.txt'] = text }, more or {}) }, function(child)
    child:command('edit a.txt')
    test(child)
  end)
end

--- The story's words for an edit of `a.txt`.
local STORY = [[
  local uri
  wait(function() uri = vim.iter(vim.tbl_keys(documents)):find(function(uri) return uri:match('a.txt$') end) return uri end)
  local function replace(line, from, to, text)
    return { range = { start = { line = line, character = from }, ['end'] = { line = line, character = to } }, newText = text }
  end
]]

function tests.one_undo_takes_back_one_edit_and_the_typing_survives()
  with('one\ntwo\nthree\n', function(child)
    child:type('Otyped<Esc>')
    child:prompt(STORY .. [[
      local result = edit(uri, documents[uri].version, { replace(1, 0, 3, 'ONE\nand'), replace(3, 0, 5, 'THREE') })
      say(tostring(result.applied) .. ' ' .. documents[uri].text:gsub('\n', '|'))
      finish()
    ]])
    -- The change is told before the answer: the daemon need not wait.
    child:wait_chat('true typed|ONE|and|two|THREE|')
    equal(child:lines(), { 'typed', 'ONE', 'and', 'two', 'THREE' }, 'the edit')
    child:type('u')
    equal(child:lines(), { 'typed', 'one', 'two', 'three' }, 'one undo')
    child:type('u')
    equal(child:lines(), { 'one', 'two', 'three' }, 'the typing is a step of its own')
  end)
end

function tests.r6_2_a_stale_edit_is_refused_with_a_reason()
  with('one\n', function(child)
    child:prompt(STORY .. [[
      local old = documents[uri].version
      say('ready')
      wait(function() return documents[uri].version > old end)
      local result = edit(uri, old, { replace(0, 0, 3, 'LOST') })
      say(tostring(result.applied) .. ': ' .. result.failureReason .. ' end')
      say(' known: ' .. documents[uri].text:gsub('\n', '|'))
      finish()
    ]])
    child:wait_chat('ready')
    child:type('Onewer<Esc>')
    child:wait_chat('false: file://')
    contains(child:chat(), 'has changed: the edit is for version', 'the reason')
    -- The text is told before the refusal: the next try is for the text as it is.
    child:wait_chat('known: newer|one|')
    equal(child:lines(), { 'newer', 'one' }, 'the text')
  end)
end

function tests.several_documents_are_edited_all_or_none()
  with('one\n', function(child)
    child:command('edit b.txt | setlocal nomodifiable | edit a.txt')
    child:prompt(STORY .. [[
      wait(function() return vim.tbl_count(documents) == 2 end)
      local function both()
        local changes = {}
        for _, name in ipairs({ 'a', 'b' }) do
          local other = uri:gsub('a.txt$', name .. '.txt')
          table.insert(changes, { textDocument = { uri = other, version = documents[other].version }, edits = { replace(0, 0, 0, 'X') } })
        end
        return request('workspace/applyEdit', { edit = { documentChanges = changes } })
      end
      local result = both()
      say(tostring(result.applied) .. ' ' .. tostring(result.failureReason))
      request('window/showMessageRequest', { type = 3, message = 'go on', actions = { { title = 'yes' } } })
      result = both()
      say('\nthen ' .. tostring(result.applied) .. ' ' .. tostring(result.failureReason))
      finish()
    ]])
    child:wait_chat("'modifiable' is off")
    equal(child:lines(), { 'one' }, 'nothing was done')
    child:lua("vim.bo[vim.fn.bufnr('b.txt')].modifiable = true")
    child:pick(1, 'yes')
    child:wait_chat('then true nil')
    equal({ child:lines(), child:lines(child:lua("return vim.fn.bufnr('b.txt')")) }, { { 'Xone' }, { 'Xtwo' } }, 'both')
    child:type('u')
    equal(
      { child:lines(), child:lines(child:lua("return vim.fn.bufnr('b.txt')")) },
      { { 'one' }, { 'Xtwo' } },
      'one undo a buffer'
    )
  end, { ['b.txt'] = 'two\n' })
end

--- Applies random edits of texts of every kind of end and line ending, and compares with the same edits of the plain text.
function tests.r1_2_edits_give_exactly_the_text_that_was_asked_for()
  with('', function(child)
    local problem = child:lua([[
      local apply = require('copydesk.edit').apply
      math.randomseed(20)
      local pieces = { '', 'a', 'é', '😀', 'word', '\n', '\n\n', 'x\ny', '\nend', 'line\n', '  ' }
      local function text(count, ending)
        local parts = {}
        for _ = 1, count do parts[#parts + 1] = pieces[math.random(#pieces)] end
        return table.concat(parts):gsub('\n*$', '') .. ending
      end
      local function position(source, offset)
        local before = source:sub(1, offset)
        local _, line = before:gsub('\n', '')
        return { line = line, character = #before:match('[^\n]*$') }
      end
      local function held()
        return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
      end
      local uri = vim.uri_from_bufnr(0)
      local tried = 0
      for round = 1, 3000 do
        local format = round % 2 == 0 and 'unix' or 'dos'
        local ending = round % 3 == 0 and '' or '\n'
        local source = text(math.random(0, 12), ending)
        local offsets = {}
        for _ = 1, 2 * math.random(1, 3) do
          -- At characters only, as every client and server has it.
          local offset = math.random(0, #source)
          while offset > 0 and offset < #source and source:byte(offset + 1) >= 128 and source:byte(offset + 1) < 192 do
            offset = offset - 1
          end
          offsets[#offsets + 1] = offset
        end
        table.sort(offsets)
        local edits, expected, last = {}, '', 0
        for index = 1, #offsets, 2 do
          local from, to = offsets[index], offsets[index + 1]
          local new = pieces[math.random(#pieces)]
          edits[#edits + 1] = { range = { start = position(source, from), ['end'] = position(source, to) }, newText = new }
          expected = expected .. source:sub(last + 1, from) .. new
          last = to
        end
        expected = expected .. source:sub(last + 1)
        -- What Neovim can hold: a buffer says once for all whether its last line ends.
        local holds = ending == '\n' and expected:sub(-1) == '\n' or ending == '' and expected:sub(-1) ~= '\n'
        local distinct = true
        for index = 2, #offsets - 1, 2 do
          distinct = distinct and offsets[index] < offsets[index + 1]
        end
        if holds and distinct and source ~= '' and expected ~= '' and source ~= '\n' and expected ~= '\n' then
          tried = tried + 1
          vim.bo.fileformat, vim.bo.endofline, vim.bo.fixendofline = format, ending ~= '', false
          vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split((source:gsub('\n$', '')), '\n'))
          for _, edit in ipairs(edits) do
            edit.newText = edit.newText:gsub('\n', format == 'dos' and '\r\n' or '\n')
          end
          local asked = vim.inspect(edits)
          local answer = apply({ edit = { changes = { [uri] = edits } } }, 'utf-8')
          if not answer.applied or held() .. ending ~= expected then
            return ('round %d %s: %q with %s is %q, not %q'):format(round, format, source, asked, held(), expected)
          end
          if expected ~= source then
            vim.cmd('silent undo')
          end
          if held() .. ending ~= source then
            return ('round %d: %q is not as before after one undo'):format(round, source)
          end
        end
      end
      return tried > 500 and 'right' or ('only %d rounds'):format(tried)
    ]])
    equal(problem, 'right', 'the edits')
  end)
end

function tests.an_edit_that_fails_half_way_is_taken_back()
  with('one\ntwo\n', function(child)
    child:type('Otyped<Esc>')
    child:prompt(STORY .. [[
      local other = uri:gsub('a.txt$', 'b.txt')
      wait(function() return documents[other] end)
      local broken = replace(1, 0, 3, 'ONE')
      broken.newText = nil
      local result = request('workspace/applyEdit', { edit = { documentChanges = {
        { textDocument = { uri = other, version = documents[other].version }, edits = { replace(0, 0, 0, 'X') } },
        { textDocument = { uri = uri, version = documents[uri].version }, edits = { replace(2, 0, 3, 'TWO'), broken } },
      } } })
      say('applied ' .. tostring(result.applied))
      finish()
    ]])
    child:command('split b.txt')
    child:wait_chat('applied false')
    equal(child:lines(), { 'other' }, 'the other document')
    child:command('buffer a.txt')
    equal(child:lines(), { 'typed', 'one', 'two' }, 'the text')
    child:type('u')
    equal(child:lines(), { 'one', 'two' }, 'the typing is still a step')
  end, { ['b.txt'] = 'other\n' })
end

function tests.a_hidden_buffer_is_edited_as_one_undo_step()
  with('one\n', function(child)
    child:command('set hidden | edit b.txt')
    child:prompt(
      STORY .. "say(tostring(edit(uri, documents[uri].version, { replace(0, 0, 3, 'ONE') }).applied)) finish()"
    )
    child:wait_chat('true')
    child:command('edit a.txt')
    equal(child:lines(), { 'ONE' }, 'the edit')
    child:type('u')
    equal(child:lines(), { 'one' }, 'the undo')
  end)
end

function tests.an_edit_in_insert_mode_keeps_the_cursor_and_is_a_step_of_its_own()
  with('one\ntwo\nthree\n', function(child)
    child:type('jAabc')
    child:prompt(STORY .. [[
      wait(function() return documents[uri].text:find('twoabc') end)
      local result = edit(uri, documents[uri].version, { replace(0, 0, 0, 'NEW\n'), replace(2, 0, 5, 'THREE') })
      say('edited ' .. tostring(result.applied))
      wait(function() return documents[uri].text:find('def') end)
      say(' seen')
      finish()
    ]])
    child:wait_chat('edited true')
    equal(child:mode(), 'i', 'still in Insert mode')
    child:type('def')
    equal(child:lines(), { 'NEW', 'one', 'twoabcdef', 'THREE' }, 'both')
    child:wait_chat('seen')
    child:type('<Esc>u')
    equal(child:lines(), { 'NEW', 'one', 'twoabc', 'THREE' }, 'what was typed last')
    child:type('u')
    equal(child:lines(), { 'one', 'twoabc', 'three' }, 'the edit, alone')
    child:type('u')
    equal(child:lines(), { 'one', 'two', 'three' }, 'what was typed first')
  end)
end

function tests.r6_2_all_typing_survives_edits_between_some_hundred_key_strokes()
  local lines = {}
  for number = 1, 20 do
    lines[number] = ('agent line %d'):format(number)
  end
  with(table.concat(lines, '\n') .. '\nhere: \n', function(child)
    child:type('GA')
    child:prompt(STORY .. [[
      local done, refused, row, longest = 0, 0, 0, 0
      while done < 40 do
        -- Made for the text as it is known now; the user types on meanwhile.
        local text, version = documents[uri].text, documents[uri].version
        local number = 0
        for line in vim.gsplit(text, '\n', { plain = true }) do
          if line:match('^agent line ' .. (done % 20 + 1) .. '%f[%D]') then
            local change = done % 2 == 0 and replace(number, #line, #line, '!') or replace(number, 0, 0, 'above\n')
            local result = edit(uri, version, { change })
            if result.applied then done, row = done + 1, 0 else refused, row = refused + 1, row + 1 end
            longest = math.max(longest, row)
            break
          end
          number = number + 1
        end
      end
      say(('done after %d refusals, %d in a row'):format(refused, longest))
      finish()
    ]])
    local typed = {}
    local number = 0
    -- As long as the agent works, and no less than 400 keys.
    repeat
      number = number + 1
      local word = ('w%d '):format(number)
      for key in word:gmatch('.') do
        child:type(key == ' ' and '<Space>' or key)
      end
      typed[#typed + 1] = word
    until number >= 120 and child:chat():find('done after', 1, true)
    equal(child:mode(), 'i', 'still in Insert mode')
    child:type('<Esc>')
    local text = child:lines()
    equal(text[#text], 'here: ' .. table.concat(typed), 'every key is there, in its order')
    local above, marked = 0, 0
    for _, line in ipairs(text) do
      above = above + (line == 'above' and 1 or 0)
      marked = marked + select(2, line:gsub('!', ''))
    end
    equal({ above, marked }, { 20, 20 }, 'every edit is there, once')
    -- All the way back and forth: the undo steps of both fit together.
    child:command('silent! undo 0')
    equal(#child:lines(), 21, 'undone')
    child:lua("vim.cmd('silent undo ' .. vim.fn.undotree().seq_last)")
    equal(child:lines(), text, 'done again')
  end)
end

function tests.c30_typing_while_an_ask_is_open_survives_and_the_edit_is_made_anew()
  with('one\ntwo\n', function(child)
    child:prompt(STORY .. [[
      local version = documents[uri].version
      local answer = await(ask({ toolCallId = 'c1', title = 'Edit', content = {
        { type = 'diff', path = '/a.txt', oldText = 'two\n', newText = 'TWO\n' } } }))
      local result = edit(uri, version, { replace(1, 0, 3, 'TWO') })
      say('first ' .. tostring(result.applied))
      wait(function() return documents[uri].version > version end)
      result = edit(uri, documents[uri].version, { replace(2, 0, 3, 'TWO') })
      say(', then ' .. tostring(result.applied))
      finish()
    ]])
    child:menu(1)
    child:type('Oabove<Esc>')
    child:pick(1, 'Allow')
    child:wait_chat('first false, then true')
    equal(child:lines(), { 'above', 'one', 'TWO' }, 'both')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
    child:type('u')
    equal(child:lines(), { 'above', 'one', 'two' }, 'the undo')
  end)
end

return tests
