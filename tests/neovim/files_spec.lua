-- Saving and reading again for the daemon, and the diagnostics of other language servers.

local harness = require('harness')
local equal, contains = harness.equal, harness.contains

local tests = {}

---@param files table<string, string>
---@param test fun(child: Child)
local function with(files, test)
  harness.with({ files = files }, test)
end

--- Asks for a request of the daemon, and shows its result in one line.
---@param child Child
---@param method string
---@param params any
---@return string
local function ask(child, method, params)
  child:command('CopydeskNew')
  child:prompt(([[
    local result, err = request(%q, vim.json.decode(%q))
    say(err and 'error ' .. vim.json.encode(err) or 'result: ' .. vim.inspect(result):gsub('%%s+', ' ') .. ' end')
    finish()
  ]]):format(method, vim.json.encode(params)))
  child:wait("return not require('copydesk.session').running()", 'the answer')
  child:wait_chat(' end')
  return (child:chat():gsub('^.*result: ', ''))
end

---@param child Child
---@param name string
---@return string
local function uri(child, name)
  return child:lua('return vim.uri_from_fname(...)', child.workspace .. '/' .. name)
end

function tests.save_writes_with_autocommands_and_tells_what_it_could_not()
  with(
    { ['a.txt'] = 'a\n', ['b.txt'] = 'b\n', ['c.txt'] = 'c\n', ['d.txt'] = 'd\n', ['e.txt'] = 'e\n' },
    function(child)
      child:command('set hidden confirm')
      child:lua([[vim.api.nvim_create_autocmd('BufWritePre', { pattern = 'a.txt', callback = function()
      vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'formatted' }) end })]])
      child:lua(
        [[vim.api.nvim_create_autocmd('BufWritePre', { pattern = 'd.txt', callback = function() error('no formatter') end })]]
      )
      for _, name in ipairs({ 'a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt' }) do
        child:command('edit ' .. name)
        child:type('ityped <Esc>')
      end
      child:lua("vim.bo[vim.fn.bufnr('b.txt')].readonly = true")
      -- The daemon must have seen the buffers before something else writes.
      ask(child, '_copydesk/save', { uris = {} })
      harness.write(child.workspace .. '/c.txt', 'written by something else\n')
      -- The user has seen that, and kept his text: Neovim would still ask before it writes.
      child:lua([[
      local buffer = vim.fn.bufnr('c.txt')
      vim.api.nvim_create_autocmd('FileChangedShell', { buffer = buffer, command = 'let v:fcs_choice = ""' })
      vim.cmd('silent checktime ' .. buffer)
      -- What follows where the question is answered by OK.
      vim.api.nvim_exec_autocmds('FileChangedShellPost', { buffer = buffer })
    ]])
      local names = { 'a.txt', 'b.txt', 'c.txt', 'd.txt', 'none.txt' }
      local answer = ask(child, '_copydesk/save', {
        uris = vim.tbl_map(function(name)
          return uri(child, name)
        end, names),
      })
      contains(answer, 'the buffer is read-only', 'a read-only buffer')
      contains(answer, 'the file was changed on the disk by something else', 'a file that has changed')
      contains(answer, 'no formatter', 'a failing autocommand')
      equal(select(2, answer:gsub('reason = ', '')), 3, 'how many could not be saved')
      equal(harness.read(child.workspace .. '/a.txt'), 'typed a\nformatted\n', 'a.txt')
      equal(harness.read(child.workspace .. '/c.txt'), 'written by something else\n', 'c.txt')
      equal(harness.read(child.workspace .. '/e.txt'), 'e\n', 'what was not named is not saved')
      equal(child:lua('return vim.o.confirm'), true, "'confirm' is as it was")
    end
  )
end

function tests.r1_2_a_change_of_line_endings_or_of_the_last_line_break_is_told()
  with({ ['a.txt'] = 'one\ntwo\n' }, function(child)
    child:command('edit a.txt')
    child:prompt("say('ready') finish()")
    child:wait_chat('ready')
    child:command('buffer a.txt')
    child:command('set fileformat=dos')
    child:type('Othree<Esc>')
    child:command('setlocal noendofline nofixendofline')
    child:prompt([[
      local function text()
        local _, document = next(documents)
        return document and document.text
      end
      wait(function() return text() == 'three\r\none\r\ntwo' end)
      say('told')
      finish()
    ]])
    child:wait_chat('told')
  end)
end

function tests.save_of_a_new_file_never_overwrites_one_that_appeared()
  with({}, function(child)
    child:command('edit new.txt')
    child:type('imine<Esc>')
    ask(child, '_copydesk/save', { uris = {} })
    harness.write(child.workspace .. '/new.txt', 'theirs\n')
    contains(ask(child, '_copydesk/save', { uris = { uri(child, 'new.txt') } }), 'changed on the disk', 'the reason')
    equal(harness.read(child.workspace .. '/new.txt'), 'theirs\n', 'the file')
    vim.fn.delete(child.workspace .. '/new.txt')
    equal(ask(child, '_copydesk/save', { uris = { uri(child, 'new.txt') } }), '{ unsaved = {} } end', 'saved')
    equal(harness.read(child.workspace .. '/new.txt'), 'mine\n', 'the file')
  end)
end

function tests.r6_3_files_changed_reads_clean_buffers_again_and_leaves_others()
  with({ ['clean.txt'] = 'one\ntwo\nthree\n', ['dirty.txt'] = 'one\n', ['gone.txt'] = 'one\n' }, function(child)
    child:command('set hidden noautoread')
    child:command('edit gone.txt | edit dirty.txt')
    child:type('ityped <Esc>')
    child:command('edit clean.txt')
    child:type('jx')
    child:command('silent write')
    child:type('jl')
    ask(child, '_copydesk/save', { uris = {} })
    child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('clean.txt'))")
    for _, name in ipairs({ 'clean.txt', 'dirty.txt' }) do
      harness.write(child.workspace .. '/' .. name, 'ONE\nwo\nTHREE and more\n')
    end
    vim.fn.delete(child.workspace .. '/gone.txt')
    local answer = ask(child, '_copydesk/files_changed', {
      files = {
        { uri = uri(child, 'clean.txt'), kind = 'changed' },
        { uri = uri(child, 'dirty.txt'), kind = 'changed' },
        { uri = uri(child, 'gone.txt'), kind = 'deleted' },
        { uri = uri(child, 'unknown.txt'), kind = 'created' },
      },
    })
    equal(
      answer,
      ('{ conflicts = { "%s", "%s" }, reloaded = { "%s" } } end'):format(
        uri(child, 'dirty.txt'),
        uri(child, 'gone.txt'),
        uri(child, 'clean.txt')
      ),
      'the answer'
    )
    equal(child:lua('return vim.fn.bufname()'), 'clean.txt', 'the buffer')
    equal(child:lines(), { 'ONE', 'wo', 'THREE and more' }, 'read again')
    equal(child:lua('return vim.api.nvim_win_get_cursor(0)'), { 3, 1 }, 'the cursor')
    equal(child:lines(child:lua("return vim.fn.bufnr('dirty.txt')")), { 'typed one' }, 'left alone')
    child:type('uu')
    equal(child:lines(), { 'one', 'two', 'three' }, 'the undo history')
    child:prompt([[
      for uri, document in pairs(documents) do if uri:match('clean') then say('open as ' .. document.text:gsub('\n', '|')) end end
      finish()
    ]])
    child:wait_chat('open as one|two|three|')
  end)
end

--- A language server inside the child: it calls each `bad` an error. `_G.server` steers it.
local SERVER = [[
  local options = ...
  _G.server = { published = {}, hold = options.hold or false }
  local id = 0
  vim.lsp.start({ name = 'words', root_dir = vim.fn.getcwd(), cmd = function(dispatchers)
    local function find(text)
      local found, number = {}, 0
      for line in vim.gsplit(text, '\n', { plain = true }) do
        local from = line:find('bad', 1, true)
        if from then
          local column = vim.str_utfindex(line, 'utf-16', from - 1)
          found[#found + 1] = { range = { start = { line = number, character = column },
            ['end'] = { line = number, character = column + 3 } }, message = 'bad word', severity = 1, source = 'words' }
        end
        number = number + 1
      end
      return found
    end
    local text
    _G.server.publish = function(uri, version, items)
      dispatchers.notification('textDocument/publishDiagnostics', { uri = uri, version = version, diagnostics = items or find(text) })
    end
    local function take(document, new)
      text = new
      _G.server.version, _G.server.uri = document.version, document.uri
      if not _G.server.hold and not options.pull then
        _G.server.publish(document.uri, options.versions and document.version or nil)
      end
    end
    return {
      request = function(method, params, done, replied)
        id = id + 1
        if method == 'initialize' then
          done(nil, { capabilities = { textDocumentSync = { openClose = true, change = 1 },
            executeCommandProvider = options.language and { commands = { 'fix', 'late' } } or nil,
            definitionProvider = options.language, renameProvider = options.language,
            diagnosticProvider = options.pull and { interFileDependencies = false, workspaceDiagnostics = false } or nil } })
        elseif method == 'textDocument/definition' then
          done(nil, { uri = params.textDocument.uri, range = { start = params.position, ['end'] = params.position } })
        elseif method == 'textDocument/rename' then
          done(nil, { changes = { [params.textDocument.uri] = {}, ['/no/uri'] = {} } })
        elseif method == 'workspace/executeCommand' then
          -- Asks for the edit once the test lets it, and answers after that.
          local own = id
          local function ask()
            local edit = { changes = { [_G.server.uri] = { { range = { start = { line = 0, character = 0 },
              ['end'] = { line = 0, character = 0 } }, newText = params.command } } } }
            _G.server.answer = dispatchers.server_request('workspace/applyEdit', { edit = edit })
            done(nil, vim.NIL)
            replied(own)
          end
          if params.command == 'late' then _G.server.ask = ask else vim.schedule(ask) end
        elseif method == 'textDocument/diagnostic' then
          done(nil, { kind = 'full', items = find(text) })
        else
          done(nil, vim.NIL)
        end
        return true, id
      end,
      notify = function(method, params)
        if method == 'textDocument/didOpen' then take(params.textDocument, params.textDocument.text)
        elseif method == 'textDocument/didChange' then take(params.textDocument, params.contentChanges[1].text) end
        return true
      end,
      is_closing = function() return false end,
      terminate = function() end,
    }
  end })
]]

---@param child Child
---@param version? integer
---@param wait? integer
---@return string
local function diagnostics(child, version, wait)
  return ask(child, '_copydesk/diagnostics', {
    documents = { { uri = uri(child, 'a.txt'), version = version } },
    waitMs = wait or 20000,
  })
end

---@param options table
---@param test fun(child: Child)
local function with_server(options, test)
  with({ ['a.txt'] = 'é bad\n' }, function(child)
    child:command('edit a.txt')
    child:lua(SERVER, options)
    test(child)
  end)
end

local function version(child)
  return child:lua("return vim.lsp.util.buf_versions[vim.fn.bufnr('a.txt')]")
end

function tests.r17_1_diagnostics_come_with_their_version_in_the_columns_of_the_daemon()
  with_server({ versions = true }, function(child)
    local answer = diagnostics(child, version(child))
    contains(answer, 'character = 3', 'UTF-8 columns')
    contains(answer, 'state = "ready"', 'what was there before the daemon')
    child:lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 0, false, { 'bad' })")
    answer = diagnostics(child, version(child))
    contains(answer, ('version = %d }'):format(version(child)), 'the version')
    equal(select(2, answer:gsub('bad word', '')), 2, 'the problems')
  end)
end

function tests.c97_late_diagnostics_of_an_old_version_are_not_given()
  with_server({ versions = true }, function(child)
    diagnostics(child, version(child))
    child:lua("_G.server.hold = true; vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, -1, false, { 'good' })")
    local old = version(child) - 1
    child:prompt(([[
      local result = request('_copydesk/diagnostics', { documents = { { uri = %q, version = %d } }, waitMs = 20000 })
      say(vim.inspect(result):gsub('%%s+', ' '))
      finish()
    ]]):format(uri(child, 'a.txt'), version(child)))
    child:wait('return _G.server.version == ...', 'the change', version(child))
    child:lua(
      '_G.server.publish(_G.server.uri, ..., { { range = { start = { line = 0, character = 0 }, '
        .. "['end'] = { line = 0, character = 1 } }, message = 'stale' } })",
      old
    )
    child:lua('_G.server.publish(_G.server.uri, ...)', version(child))
    child:wait_chat(
      ('diagnostics = {}, state = "ready", uri = "%s", version = %d }'):format(uri(child, 'a.txt'), version(child))
    )
    assert(not child:chat():find('stale', 1, true), 'an old problem was given')
  end)
end

function tests.r17_2_what_does_not_come_in_time_is_not_ready_and_the_editor_goes_on()
  with_server({ versions = true }, function(child)
    diagnostics(child, version(child))
    child:lua("_G.server.hold = true; vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, -1, false, { 'good' })")
    contains(diagnostics(child, version(child), 50), 'state = "not_ready"', 'in time')
    contains(diagnostics(child, version(child), 0), 'state = "not_ready"', 'at once')
    child:lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('a.txt'))")
    child:prompt(([[
      local id = start('_copydesk/diagnostics', { documents = { { uri = %q, version = %d } }, waitMs = 600000 })
      say('asked')
      finish()
    ]]):format(uri(child, 'a.txt'), version(child)))
    child:wait_chat('asked')
    child:type('A and more<Esc>')
    equal(child:lines(), { 'good and more' }, 'typing goes on')
  end)
end

function tests.diagnostics_are_pulled_where_the_server_offers_that()
  with_server({ pull = true }, function(child)
    contains(diagnostics(child, version(child)), 'bad word', 'pulled')
    child:lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, -1, false, { 'good' })")
    contains(diagnostics(child, version(child)), 'diagnostics = {}, state = "ready"', 'pulled again')
  end)
end

function tests.a_server_without_versions_speaks_of_the_text_that_it_was_sent()
  with_server({ versions = false }, function(child)
    diagnostics(child, version(child))
    child:lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, -1, false, { 'good' })")
    local answer = diagnostics(child, version(child))
    contains(answer, 'diagnostics = {}, presumed = { "words" }, state = "ready"', 'the new text')
    -- What follows at once is what holds.
    child:lua("_G.server.hold = true; vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, -1, false, { 'bad' })")
    child:lua([[
      vim.defer_fn(function() _G.server.publish(_G.server.uri, nil, {}) end, 200)
      vim.defer_fn(function() _G.server.publish(_G.server.uri) end, 250)
    ]])
    contains(diagnostics(child, version(child)), 'bad word', 'the last one')
  end)
end

function tests.a_language_request_goes_to_the_server_in_its_columns_and_names_versions()
  with_server({ language = true }, function(child)
    ---@param method string
    ---@param of? integer
    ---@param extra? table
    local function language(method, of, extra)
      local document = { uri = uri(child, 'a.txt') }
      local params = { textDocument = document, position = { line = 0, character = 3 } }
      return ask(child, '_copydesk/language', {
        document = { uri = document.uri, version = of or version(child) },
        method = method,
        params = vim.tbl_extend('force', params, extra or {}),
        waitMs = 20000,
      })
    end
    local answer = language('textDocument/definition')
    contains(answer, 'start = { character = 2, line = 0 }', 'the columns of the server')
    contains(answer, 'positionEncoding = "utf-16"', 'which the answer names')
    contains(answer, 'state = "ready"', 'the state')
    answer = language('textDocument/rename', nil, { newName = 'x' })
    contains(answer, ('a.txt", version = %d }'):format(version(child)), 'the version of what is renamed')
    contains(language('textDocument/hover'), 'state = "unavailable"', 'what no server knows')
    contains(language('textDocument/definition', version(child) - 1), 'state = "not_ready"', 'another text')
  end)
end

--- The user runs a command of the server.
---@param child Child
local function user_fixes(child)
  child:lua("vim.lsp.get_clients({ name = 'words' })[1]:request('workspace/executeCommand', { command = 'fix' })")
end

function tests.what_a_command_of_a_server_wants_to_be_edited_is_the_answer_and_is_not_made()
  with_server({ language = true }, function(child)
    ---@param name string
    ---@param wait? integer
    local function command(name, wait)
      return ask(child, '_copydesk/language', {
        document = { uri = uri(child, 'a.txt'), version = version(child) },
        method = 'workspace/executeCommand',
        params = { command = name },
        waitMs = wait or 20000,
      })
    end
    local a = child:lua("return vim.fn.bufnr('a.txt')")
    local answer = command('fix')
    contains(answer, 'newText = "fix"', 'the edit')
    contains(answer, 'state = "ready"', 'the state')
    contains(answer, ('a.txt", version = %d }'):format(version(child)), 'the version of what would be edited')
    equal(child:lines(a), { 'é bad' }, 'the buffer')
    equal(child:lua('return _G.server.answer.applied'), true, 'what the server is told')
    -- The user's own.
    user_fixes(child)
    child:wait('return vim.api.nvim_buf_get_lines(..., 0, -1, false)[1] == "fixé bad"', 'the edit of the user', a)
    -- One that is given up: what it wants late is nobody's, and is not the next one's.
    contains(command('late', 50), 'did not come to an end', 'one without an end')
    contains(command('fix'), 'with an earlier command', 'the next one')
    child:lua('_G.server.ask()')
    equal(child:lua('return _G.server.answer.applied'), false, 'the late edit')
    equal(child:lines(a), { 'fixé bad' }, 'the buffer')
    answer = command('fix')
    contains(answer, 'newText = "fix"', 'its own edit')
    assert(not answer:find('late', 1, true), answer)
    equal(child:lines(a), { 'fixé bad' }, 'the buffer')
    -- Nor does it become the user's by a command of his own.
    contains(command('late', 50), 'did not come to an end', 'another without an end')
    child:lua('_G.server.answer = nil')
    user_fixes(child)
    child:wait('return _G.server.answer ~= nil', 'the edit of one of them')
    equal(child:lua('return _G.server.answer.applied'), false, 'an edit of nobody knows which')
    child:lua('_G.server.ask()')
    equal(child:lua('return _G.server.answer.applied'), false, 'the late edit beside it')
    equal(child:lines(a), { 'fixé bad' }, 'the buffer')
    user_fixes(child)
    child:wait('return vim.api.nvim_buf_get_lines(..., 0, -1, false)[1] == "fixfixé bad"', 'his own again', a)
  end)
end

function tests.an_edit_of_nobody_knows_which_command_is_not_made()
  with_server({ language = true }, function(child)
    local a = child:lua("return vim.fn.bufnr('a.txt')")
    child:prompt(([[
      local result = request('_copydesk/language', { document = { uri = %q }, method = 'workspace/executeCommand',
        params = { command = 'late' }, waitMs = 20000 })
      say(vim.inspect(result):gsub('%%s+', ' '))
      finish()
    ]]):format(uri(child, 'a.txt')))
    child:wait('return _G.server.ask ~= nil', 'the command')
    -- The user runs one meanwhile.
    user_fixes(child)
    child:wait('return _G.server.answer ~= nil', 'the edit of one of them')
    equal(child:lua('return _G.server.answer.applied'), false, 'what the server is told')
    equal(child:lines(a), { 'é bad' }, 'the buffer')
    child:lua('_G.server.ask()')
    child:wait_chat('state = "not_ready"')
    equal(child:lines(a), { 'é bad' }, 'the buffer')
    -- Afterwards all is as it was.
    user_fixes(child)
    child:wait('return vim.api.nvim_buf_get_lines(..., 0, -1, false)[1] == "fixé bad"', 'the edit of the user', a)
  end)
end

function tests.without_a_server_that_speaks_diagnostics_are_unavailable()
  with({ ['a.txt'] = 'bad\n' }, function(child)
    child:command('edit a.txt')
    contains(diagnostics(child, nil), 'state = "unavailable"', 'no server')
    child:lua(SERVER, { hold = true })
    child:command('CopydeskChat')
    contains(diagnostics(child, nil, 50), 'state = "not_ready"', 'a server that was not heard yet')
    contains(diagnostics(child, nil, 600000), 'state = "unavailable"', 'a server that says nothing')
    child:lua('_G.server.publish(_G.server.uri)')
    contains(diagnostics(child, nil), 'state = "ready"', 'a server that speaks after all')
  end)
end

return tests
