-- Review, undo and diffs end to end: the plugin in a real Neovim, the real daemon and its store. Only the model and the person are played.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains
local with, call = harness.with_daemon, harness.call

local tests = {}

--- Edits are asked nowhere in these tests but where the ask is what is tested.
local FREE = { edit = 'allow', bash = 'allow' }

---@param from integer
---@param to integer
---@return string
local function numbers(from, to)
  local lines = {}
  for number = from, to do
    lines[#lines + 1] = ('line %d\n'):format(number)
  end
  return table.concat(lines)
end

---@param workspace string
---@param name string
---@param edits { [1]: string, [2]: string }[]
---@param prompt string What begins it.
---@return table[] replies
local function edits_of(workspace, name, edits, prompt)
  local file = workspace .. '/' .. name
  local replies = { call('read', { filePath = file }, prompt) }
  for _, edit in ipairs(edits) do
    replies[#replies + 1] = call('edit', { filePath = file, oldString = edit[1], newString = edit[2] })
  end
  replies[#replies + 1] = { text = 'Done with it.' }
  return replies
end

--- Goes to the file, and waits until the turn is over.
---@param child Child
---@param name string
local function after_turn(child, name)
  child:wait_chat('Done with it.')
  child:wait("return not require('copydesk.session').running()", 'the end of the turn')
  child:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', name)
end

--- That one line was rejected. The system prompt speaks of rejecting too.
---@param request string
---@param line integer
---@param own string What the agent had written there.
---@param what string
local function is_told(request, line, own, what)
  contains(request, 'The user has rejected these changes of yours, and they were taken back', what)
  local place = '- a.txt, at line %d: taken out 1 line, put back 1 line. Yours were:\\n    %s'
  contains(request, place:format(line, own), what)
end

function tests.c19_hunks_are_decided_one_by_one_each_on_its_own_text()
  local requests = with({
    files = { ['a.txt'] = numbers(1, 12) },
    permission = FREE,
    replies = function(workspace)
      local replies = edits_of(workspace, 'a.txt', {
        { 'line 1\n', 'line 1\n' .. ('new\n'):rep(5) },
        { 'line 6\n', 'SIX\n' },
        { 'line 10\nline 11\n', 'TEN\n' },
      }, 'change three places')
      replies[#replies + 1] = { text = 'I see.' }
      return replies
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change three places')
    after_turn(child, 'a.txt')
    child:wait_signs({ '1-5:+', '10:~', '14:~' }, 'three hunks')
    contains(child:lua("return require('copydesk').statusline()"), '3 hunks', 'the status line')
    child:command('3 | CopydeskAccept')
    child:wait_signs({ '10:~', '14:~' }, 'the first is accepted')
    child:command('15 | CopydeskAccept')
    child:wait_signs({ '10:~' }, 'the third is accepted')
    local kept = child:lines()
    equal({ kept[11], kept[15], #kept }, { 'SIX', 'TEN', 16 }, 'nothing has changed')
    child:command('11 | CopydeskReject')
    child:wait_signs({}, 'all are decided')
    kept[11] = 'line 6'
    equal(child:lines(), kept, 'the second is taken back and nothing else')
    child:type('u')
    child:wait("return vim.fn.getline(11) == 'SIX'", 'one undo step')
    child:type('<C-r>')
    child:wait("return vim.fn.getline(11) == 'line 6'", 'redone')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
    child:prompt('what now?')
    child:wait_chat('I see.')
  end)
  local last = vim.split(vim.trim(requests), '\n')
  is_told(last[#last], 11, 'SIX', 'the model is told')
end

function tests.r4_2_hunks_are_decided_while_the_agent_goes_on()
  local requests = with({
    files = { ['a.txt'] = numbers(1, 8) },
    permission = FREE,
    replies = function(workspace)
      local file = workspace .. '/a.txt'
      local second = call('edit', { filePath = file, oldString = 'line 7\n', newString = 'SEVEN\n' })
      second.gate = 'second'
      return {
        call('read', { filePath = file }, 'change two places'),
        call('edit', { filePath = file, oldString = 'line 2\n', newString = 'TWO\n' }),
        second,
        { text = 'Done with it.' },
      }
    end,
  }, function(child, model)
    child:command('edit a.txt')
    child:prompt('change two places')
    child:wait_signs({ '1:~' }, 'the first edit', 'a.txt')
    child:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', 'a.txt')
    child:command('2 | CopydeskReject')
    child:wait_signs({}, 'rejected', 'a.txt')
    equal(child:lines(), vim.split(vim.trim(numbers(1, 8)), '\n'), 'taken back')
    vim.fn.chansend(model.job, 'open second\n')
    after_turn(child, 'a.txt')
    child:wait_signs({ '6:~' }, 'the second edit')
  end)
  local last = vim.split(vim.trim(requests), '\n')
  is_told(last[#last], 2, 'TWO', 'the model is told in the same turn')
end

function tests.r4_2_hunks_follow_what_is_typed_above_into_and_over_them()
  with({
    files = { ['a.txt'] = numbers(1, 9) },
    permission = FREE,
    replies = function(workspace)
      return edits_of(workspace, 'a.txt', {
        { 'line 3\n', 'three\nand more\n' },
        { 'line 8\n', 'EIGHT\n' },
      }, 'change two places')
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change two places')
    after_turn(child, 'a.txt')
    child:wait_signs({ '2-3:~', '8:~' }, 'two hunks')
    child:type('ggOabove<CR>and above<Esc>')
    child:wait_signs({ '4-5:~', '10:~' }, 'two lines further down')
    child:command('CopydeskNext')
    child:command('CopydeskNext')
    child:type('ccof the user<Esc>')
    child:wait("return require('copydesk.changes').count() == 1", 'what was overwritten is decided')
    child:wait_signs({ '4-5:~' }, 'one hunk')
    child:command('5 | CopydeskReject')
    child:wait_signs({}, 'none')
    equal(child:lines(), {
      'above',
      'and above',
      'line 1',
      'line 2',
      'line 3',
      'line 4',
      'line 5',
      'line 6',
      'line 7',
      'of the user',
      'line 9',
    }, 'the typing survives')
  end)
end

function tests.r4_2_marks_and_list_agree_after_any_typing_beside_them()
  with({
    files = { ['a.txt'] = numbers(1, 60) },
    permission = FREE,
    replies = function(workspace)
      return edits_of(workspace, 'a.txt', {
        { 'line 10\n', 'ten\n' },
        { 'line 20\n', 'line 20\nnew\nnew\n' },
        { 'line 30\nline 31\n', '' },
        { 'line 60\n', 'sixty\nand more\n' },
      }, 'change four places')
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change four places')
    after_turn(child, 'a.txt')
    child:wait_signs({ '9:~', '20-21:+', '30:_', '59-60:~' }, 'the signs')
    equal(
      child:lua([[
      math.randomseed(7)
      local hunks, changes = require('copydesk.hunks'), require('copydesk.changes')
      local function stands()
        return vim.tbl_map(function(at) return { at.hunk.id, at.first, at.last } end, hunks.all(0))
      end
      -- A row that is neither in a hunk nor beside one.
      local function far()
        while true do
          local row = math.random(0, vim.api.nvim_buf_line_count(0) - 1)
          if #hunks.within(0, row - 2, row + 2) == 0 then return row end
        end
      end
      local rounds = 0
      for round = 1, 40 do
        for _ = 1, math.random(1, 4) do
          local row, kind = far(), math.random(4)
          if kind == 1 and vim.api.nvim_buf_line_count(0) > 40 then
            vim.api.nvim_buf_set_lines(0, row, row + 1, true, {})
          elseif kind == 2 then
            vim.api.nvim_buf_set_lines(0, row, row, true, { 'é above', '' })
          elseif kind == 3 then
            vim.api.nvim_buf_set_text(0, row, 0, row, 0, { 'x', 'y' })
          else
            vim.cmd('silent! undo')
            vim.cmd('silent! redo')
          end
        end
        local marks = stands()
        local is_listed = vim.wait(20000, function()
          local version
          changes.each(function(_, file) version = file.version end)
          return version == vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]
        end, 5)
        if not is_listed then return 'round ' .. round .. ': no list for the text as it is' end
        if not vim.deep_equal(marks, stands()) then
          return ('round %d: the marks %s, the list %s'):format(round, vim.inspect(marks), vim.inspect(stands()))
        end
        rounds = round
      end
      return rounds
    ]]),
      40,
      'the rounds'
    )
  end)
end

function tests.c31_a_proposal_that_the_user_has_overwritten_since_the_end_of_both_is_not_offered()
  local home
  with({
    files = { ['a.txt'] = numbers(1, 5) },
    permission = FREE,
    replies = function(workspace)
      home = vim.fs.dirname(workspace)
      return edits_of(workspace, 'a.txt', { { 'line 2\n', 'TWO\n' }, { 'line 4\n', 'FOUR\n' } }, 'change them')
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change them')
    after_turn(child, 'a.txt')
    child:wait_signs({ '1:~', '3:~' }, 'the signs')
    child:command('write')
    -- Both end; the user goes on without them.
    child:lua("require('copydesk.client').stop()")
    child:command('bwipeout! a.txt')
    harness.write(child.workspace .. '/a.txt', 'line 1\nmine\nline 3\nFOUR\nline 5\n')
    child:command('edit a.txt')
    child:command('CopydeskSessions')
    child:pick(1, child:menu(1).rows[1])
    child:wait_chat('Done with it.')
    child:wait_signs({ '3:~' }, 'what is left of it', 'a.txt')
    child:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', 'a.txt')
    equal(
      { child:lines(), child:lua('return vim.bo.modified') },
      { { 'line 1', 'mine', 'line 3', 'FOUR', 'line 5' }, false },
      'the text stays, and is clean'
    )
    child:command('CopydeskReject all')
    child:wait_signs({}, 'none')
    equal(child:lines(), { 'line 1', 'mine', 'line 3', 'line 4', 'line 5' }, 'the user keeps his line')
  end)
  assert(home)
end

function tests.r5_2_r5_3_a_turn_is_undone_without_the_users_lines_and_done_again()
  with({
    files = { ['a.txt'] = numbers(1, 8), ['gone.txt'] = 'keep\n' },
    permission = FREE,
    replies = function(workspace)
      local replies = edits_of(workspace, 'a.txt', {
        { 'line 2\n', 'TWO\n' },
        { 'line 6\n', 'SIX\n' },
      }, 'change and make')
      table.insert(replies, #replies, call('write', { filePath = workspace .. '/new/made.txt', content = 'made\n' }))
      return replies
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change and make')
    after_turn(child, 'a.txt')
    child:wait_signs({ '1:~', '5:~' }, 'the signs')
    child:command('6')
    child:type('Aof both<Esc>Gomine<Esc>')
    child:command('CopydeskUndo')
    child:wait("return vim.fn.getline(2) == 'line 2'", 'the undo')
    child:wait('return #_G.told > 0', 'the report')
    equal(child:lines(), {
      'line 1',
      'line 2',
      'line 3',
      'line 4',
      'line 5',
      'SIXof both',
      'line 7',
      'line 8',
      'mine',
    }, 'the lines of the user stay')
    equal(vim.uv.fs_stat(child.workspace .. '/new'), nil, 'what was made is gone, with its folder')
    contains(child:told(), 'a.txt', 'the conflict is told')
    child:command('CopydeskRedo')
    child:wait("return vim.fn.getline(2) == 'TWO'", 'the redo')
    child:wait('return #_G.told > 1', 'the report')
    equal(harness.read(child.workspace .. '/new/made.txt'), 'made\n', 'it is there again')
    child:type('u')
    child:wait("return vim.fn.getline(2) == 'line 2'", 'one undo step')
    equal(child:request('nvim_eval', 'v:errmsg'), '', 'no error')
  end)
end

function tests.r5_1_one_edit_of_a_turn_is_undone_from_the_conversation()
  with({
    files = { ['a.txt'] = numbers(1, 4) },
    permission = FREE,
    replies = function(workspace)
      return edits_of(workspace, 'a.txt', { { 'line 1\n', 'ONE\n' }, { 'line 3\n', 'THREE\n' } }, 'change them')
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change them')
    after_turn(child, 'a.txt')
    child:lua("vim.api.nvim_set_current_win(require('copydesk.chat').window())")
    child:lua("vim.fn.search('-line 1')")
    child:type('u')
    child:wait("return vim.fn.getbufline('a.txt', 1)[1] == 'line 1'", 'the undo')
    equal(
      child:lines(child:lua("return vim.fn.bufnr('a.txt')")),
      { 'line 1', 'line 2', 'THREE', 'line 4' },
      'the other edit stays'
    )
  end)
end

function tests.c35_what_a_daemon_that_was_killed_has_done_is_undone_by_the_next()
  with({
    files = { ['a.txt'] = numbers(1, 4) },
    permission = FREE,
    setup = { restart = { attempts = 1, delay = 10 } },
    replies = function(workspace)
      local file = workspace .. '/a.txt'
      return {
        call('read', { filePath = file }, 'change and wait'),
        call('edit', { filePath = file, oldString = 'line 2\n', newString = 'TWO\n' }),
        call('bash', { command = 'echo begun > begun; sleep 600' }),
      }
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('change and wait')
    harness.wait(function()
      return vim.uv.fs_stat(child.workspace .. '/begun')
    end, 'the command')
    child:lua([[
      for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do vim.uv.kill(pid, 'sigkill') end
    ]])
    child:wait_chat('interrupted: the daemon was ended by signal 9')
    child:wait("return require('copydesk.client').status() == 'ready'", 'the next daemon')
    child:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', 'a.txt')
    child:wait_signs({}, 'none at first')
    child:command('CopydeskUndo')
    child:wait("return vim.fn.getline(2) == 'line 2'", 'the undo')
    harness.wait(function()
      return child:told():find('taken back: "change and wait": a.txt restored', 1, true)
    end, 'the report')
    child:command('CopydeskRedo')
    child:wait("return vim.fn.getline(2) == 'TWO'", 'the redo')
  end)
end

function tests.the_diff_of_a_turn_of_the_conversation_and_against_head()
  with({
    files = { ['a.txt'] = numbers(1, 4) },
    permission = FREE,
    replies = function(workspace)
      local replies = edits_of(workspace, 'a.txt', { { 'line 1\n', 'ONE\n' } }, 'the first turn')
      local file = workspace .. '/a.txt'
      vim.list_extend(replies, {
        call('edit', { filePath = file, oldString = 'line 3\n', newString = 'THREE\n' }, 'the second turn'),
        { text = 'And with that.' },
      })
      return replies
    end,
  }, function(child)
    vim.fn.delete(child.workspace .. '/.git', 'rf')
    local git = { 'git', '-C', child.workspace, '-c', 'user.name=t', '-c', 'user.email=t@example.invalid' }
    for _, arguments in ipairs({ { 'init', '-q' }, { 'add', '.' }, { 'commit', '-q', '-m', 'first' } }) do
      local run = vim.system(vim.list_extend(vim.list_slice(git), arguments)):wait()
      equal(run.code, 0, run.stderr)
    end
    child:command('edit a.txt')
    child:prompt('the first turn')
    after_turn(child, 'a.txt')
    child:prompt('the second turn')
    child:wait_chat('And with that.')
    child:wait("return not require('copydesk.session').running()", 'the end of the turn')
    child:lua('vim.api.nvim_set_current_win(vim.fn.bufwinid(...))', 'a.txt')
    child:type('Gomine<Esc>')
    local function diff(kind)
      child:command('CopydeskDiff ' .. kind)
      child:wait('return vim.endswith(vim.api.nvim_buf_get_name(0), ...)', 'the diff', '/' .. kind)
      local changed = {}
      for _, line in ipairs(child:lines()) do
        if line:find('^[+-]') and not line:find('^%+%+%+') and not line:find('^%-%-%-') then
          changed[#changed + 1] = line
        end
      end
      return changed
    end
    equal(diff('turn'), { '-line 3', '+THREE' }, 'of the last turn')
    equal(diff('session'), { '-line 1', '+ONE', '-line 3', '+THREE' }, 'of the conversation')
    equal(diff('head'), { '-line 1', '+ONE', '-line 3', '+THREE', '+mine' }, 'of all that differs')
    child:lua("vim.fn.search('^+THREE')")
    child:type('<CR>')
    child:wait("return vim.fn.expand('%:t') == 'a.txt' and vim.fn.line('.') == 3", 'the line')
  end)
end

function tests.r6_3_what_a_command_has_changed_carries_signs_and_is_undone()
  with({
    files = { ['a.txt'] = numbers(1, 4), ['b.txt'] = 'other\n' },
    permission = FREE,
    replies = function(workspace)
      return {
        call('read', { filePath = workspace .. '/a.txt' }, 'run it'),
        call('bash', { command = "sed -i 's/line 2/TWO/' a.txt; rm b.txt" }),
        { text = 'Done with it.' },
      }
    end,
  }, function(child)
    child:command('edit a.txt')
    child:prompt('run it')
    after_turn(child, 'a.txt')
    child:wait_signs({ '1:~' }, 'the sign')
    equal({ child:lines()[2], child:lua('return vim.bo.modified') }, { 'TWO', false }, 'the buffer was read again')
    child:command('CopydeskUndo')
    child:wait("return vim.fn.getline(2) == 'line 2'", 'the undo')
    harness.wait(function()
      return vim.uv.fs_stat(child.workspace .. '/b.txt')
    end, 'the file that was deleted')
    equal(harness.read(child.workspace .. '/b.txt'), 'other\n', 'its bytes')
  end)
end

function tests.edits_are_not_asked_since_undo_reaches_them()
  with({
    files = { ['a.txt'] = numbers(1, 4) },
    replies = function(workspace)
      return edits_of(workspace, 'a.txt', { { 'line 1\n', 'ONE\n' } }, 'change it')
    end,
  }, function(child)
    child:prompt('change it')
    child:wait_chat('Done with it.')
    equal(child:lua('return #_G.menus'), 0, 'no question')
    equal(vim.startswith(harness.read(child.workspace .. '/a.txt'), 'ONE\n'), true, 'a file that is not open')
    child:wait("return require('copydesk.changes').count() == 1", 'the change is listed')
    child:command('CopydeskNext')
    equal(child:lua("return { vim.fn.expand('%:t'), vim.fn.line('.') }"), { 'a.txt', 1 }, 'the way there')
    child:wait_signs({ '0:~' }, 'the sign')
    child:command('CopydeskReject')
    child:wait_signs({}, 'none')
    equal(child:lines()[1], 'line 1', 'taken back')
  end)
end

return tests
