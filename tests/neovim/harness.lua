-- What the tests of the plugin share: a Neovim of their own with the plugin on its runtime path, keys typed into it, waits on conditions.

local M = {}

local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
M.here = here
M.repository = vim.fs.dirname(vim.fs.dirname(here))

--- Milliseconds that anything may take: a limit against hanging, not a measure.
M.LIMIT = tonumber(vim.env.NVIM_TEST_LIMIT) or 30000

---@class Child
---@field channel integer
---@field home string
---@field workspace string
---@field prompts string[]
local Child = {}
Child.__index = Child

---@param condition fun(): any
---@param what string
---@return any
function M.wait(condition, what)
  local value
  local reached = vim.wait(M.LIMIT, function()
    value = condition()
    return value
  end, 5)
  if not reached then
    error('waited in vain for ' .. what, 2)
  end
  return value
end

---@param actual any
---@param expected any
---@param what string
function M.equal(actual, expected, what)
  if not vim.deep_equal(actual, expected) then
    error(('%s:\n  expected %s\n  actual   %s'):format(what, vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

---@param text string
---@param part string
---@param what string
function M.contains(text, part, what)
  if not text:find(part, 1, true) then
    error(('%s: %q is not in\n%s'):format(what, part, text), 2)
  end
end

---@param path string
---@param text string
function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
end

---@param path string
---@return string
function M.read(path)
  local file = assert(io.open(path, 'r'))
  local text = file:read('*a')
  file:close()
  return text
end

---@param method string
function Child:request(method, ...)
  return vim.rpcrequest(self.channel, method, ...)
end

--- Runs Lua in the child; `...` are its arguments.
---@param code string
function Child:lua(code, ...)
  return self:request('nvim_exec_lua', code, { ... })
end

--- Types keys, as a user would.
---@param keys string
function Child:type(keys)
  self:request('nvim_input', keys)
end

---@param command string
function Child:command(command)
  self:request('nvim_command', command)
end

---@return string
function Child:mode()
  return self:request('nvim_get_mode').mode
end

---@param buffer? integer
---@return string[]
function Child:lines(buffer)
  return self:request('nvim_buf_get_lines', buffer or 0, 0, -1, false)
end

--- Sends a prompt. To the fake daemon it is Lua, so its text is not evidence: `chat` leaves it out.
---@param text string
function Child:prompt(text)
  text = vim.trim(text)
  self.prompts[#self.prompts + 1] = text
  self:lua("require('copydesk').prompt(...)", text)
end

--- The conversation as one text, without the prompts.
---@return string
function Child:chat()
  local shown = self:lua([[
    local buffer = vim.fn.bufnr('copydesk://chat')
    return buffer > 0 and table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') or ''
  ]])
  for _, text in ipairs(self.prompts) do
    shown = shown:gsub('# You\n\n' .. vim.pesc(text), '# You')
  end
  return shown
end

---@param part string
function Child:wait_chat(part)
  local found = vim.wait(M.LIMIT, function()
    return self:chat():find(part, 1, true) ~= nil
  end, 5)
  if not found then
    error(('waited in vain for %q in the conversation:\n%s'):format(part, self:chat()), 2)
  end
end

--- Waits until Lua in the child answers something true.
---@param code string
---@param what string
function Child:wait(code, what, ...)
  local arguments = { ... }
  return M.wait(function()
    local value = self:lua(code, unpack(arguments))
    return value ~= vim.NIL and value
  end, what)
end

--- What the plugin told the user, joined.
---@return string
function Child:told()
  return table.concat(self:lua('return _G.told'), '\n')
end

function Child:stop()
  local job = self.channel
  pcall(vim.rpcnotify, job, 'nvim_command', 'qa!')
  vim.fn.jobwait({ job }, 10000)
  vim.fn.jobstop(job)
  vim.fn.delete(self.home, 'rf')
end

--- What the fake daemon offers, for `FAKE_OFFER`.
---@param more table
---@return string
function M.offer(more)
  return vim.json.encode(vim.tbl_extend('force', {
    protocol = 1,
    agentInfo = { name = 'fake', version = '0' },
    agentCapabilities = vim.empty_dict(),
    methods = {},
  }, more))
end

--- A Neovim with the plugin (unless it is to be plain), a home and a workspace of its own. It is ended by `stop`.
---@param options? { plain?: boolean, cmd?: string[], setup?: table, env?: table<string, string>, files?: table<string, string> }
---@return Child
function M.child(options)
  options = options or {}
  local home = vim.fn.tempname()
  local workspace = home .. '/workspace'
  vim.fn.mkdir(workspace .. '/.git', 'p')
  for name, text in pairs(options.files or {}) do
    M.write(workspace .. '/' .. name, text)
  end
  local env = vim.tbl_extend('force', {
    HOME = home,
    XDG_CONFIG_HOME = home .. '/config',
    XDG_DATA_HOME = home .. '/data',
    XDG_STATE_HOME = home .. '/state',
    XDG_CACHE_HOME = home .. '/cache',
    XDG_RUNTIME_DIR = home,
  }, options.env or {})
  local channel = vim.fn.jobstart({
    vim.v.progpath,
    '--embed',
    '--headless',
    '--clean',
    '-n',
    '--cmd',
    options.plain and 'set nomore' or 'set runtimepath^=' .. M.repository .. '/editors/neovim',
    '--cmd',
    'cd ' .. workspace,
  }, { rpc = true, env = env, cwd = workspace })
  assert(channel > 0, 'no Neovim')
  local child = setmetatable({ channel = channel, home = home, workspace = workspace, prompts = {} }, Child)
  child:request('nvim_ui_attach', 100, 40, { rgb = true })
  child:lua(
    [[
    local setup, cmd = ...
    _G.told, _G.menus, _G.inputs = {}, {}, {}
    vim.notify = function(text) table.insert(_G.told, text) end
    _G.built_in_select = vim.ui.select
    -- The menu stays open until the test picks a row by its text, or dismisses it.
    vim.ui.select = function(items, opts, done)
      local rows = vim.tbl_map(opts.format_item or tostring, items)
      table.insert(_G.menus, { prompt = opts.prompt, kind = opts.kind, rows = rows, items = items, done = done })
    end
    vim.ui.input = function(opts, done) table.insert(_G.inputs, { prompt = opts.prompt, done = done }) end
    _G.pick = function(number, row)
      local menu = _G.menus[number]
      local done = menu.done
      menu.done = nil
      if not row then return done(nil) end
      for index, text in ipairs(menu.rows) do
        if text == row then return done(menu.items[index], index) end
      end
      error('no row ' .. row .. ' in ' .. vim.inspect(menu.rows))
    end
    setup.cmd = cmd
    local has_plugin, config = pcall(require, 'copydesk.config')
    if has_plugin then config.set(setup) end
  ]],
    options.setup or vim.empty_dict(),
    options.cmd or { vim.v.progpath, '--clean', '--headless', '-l', here .. '/fake_daemon.lua' }
  )
  return child
end

--- A child for one test, which is ended with it. A failure comes with what was to be seen.
---@param options? table As of `child`.
---@param test fun(child: Child)
function M.with(options, test)
  local child = M.child(options)
  local passed, problem = xpcall(test, debug.traceback, child)
  local answers, mode = pcall(child.request, child, 'nvim_get_mode')
  -- A Neovim that waits for a key answers nothing else.
  if not passed and answers and not mode.blocking then
    problem = ('%s\nthe conversation:\n%s\ntold:\n%s'):format(problem, child:chat(), child:told())
  end
  child:stop()
  assert(passed, problem)
end

--- Waits for the menu of this number, from one.
---@param number integer
---@return { prompt: string, rows: string[] }
function Child:menu(number)
  return self:wait(
    [[
    local menu = _G.menus[...]
    return menu and { prompt = menu.prompt, kind = menu.kind, rows = menu.rows } or nil
  ]],
    'menu ' .. number,
    number
  )
end

--- Picks a row of the menu; nil dismisses it.
---@param number integer
---@param row? string
function Child:pick(number, row)
  self:menu(number)
  self:lua('_G.pick(...)', number, row)
end

--- The text that stands in the preview; nil where there is none.
---@return string?
function Child:preview()
  local text = self:lua([[
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.w[window].copydesk_preview then
        return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
      end
    end
  ]])
  return text ~= vim.NIL and text or nil
end

---@class Model The scripted model server.
---@field job integer
---@field port string
---@field requests string File of the requests' bodies.
---@field complaints string[]
---@field lines string[] What it has printed.

---@param replies table[]
---@return Model
function M.start_model(replies)
  local folder = vim.fn.tempname()
  M.write(folder .. '/script.json', vim.json.encode({ replies = replies }))
  local model = { requests = folder .. '/requests.jsonl', complaints = {}, lines = { '' } }
  model.job = vim.fn.jobstart({ assert(vim.env.SCRIPTED_MODEL), folder .. '/script.json', model.requests }, {
    on_stdout = function(_, data)
      model.lines[#model.lines] = model.lines[#model.lines] .. data[1]
      vim.list_extend(model.lines, data, 2)
    end,
    on_stderr = function(_, data)
      vim.list_extend(model.complaints, data)
    end,
  })
  M.wait(function()
    return #model.lines > 1
  end, 'the port of the model')
  model.port = model.lines[1]
  return model
end

--- Ends the model server: every request must have been one that a strict provider takes.
---@param model Model
---@return string requests
function M.stop_model(model)
  vim.fn.chanclose(model.job, 'stdin')
  local code = vim.fn.jobwait({ model.job }, M.LIMIT)[1]
  M.equal({ code, table.concat(model.complaints, '\n') }, { 0, '' }, 'what the model server complains of')
  return M.read(model.requests)
end

--- A Neovim with the plugin, the real daemon, and a model that follows a script.
---@param options { files: table<string, string>, replies: (fun(workspace: string): table[]), permission?: table, setup?: table }
---@param test fun(child: Child, model: Model)
---@return string requests
function M.with_daemon(options, test)
  local child =
    M.child({ files = options.files, setup = options.setup, cmd = { assert(vim.env.COPYDESK_BIN), 'serve' } })
  local model = M.start_model(options.replies(child.workspace))
  child:lua(
    'vim.env.COPYDESK_CONFIG_CONTENT = ...',
    vim.json.encode({
      model = 'scripted/one',
      permission = options.permission,
      provider = {
        scripted = {
          npm = '@ai-sdk/openai-compatible',
          options = { baseURL = ('http://127.0.0.1:%s/v1'):format(model.port), apiKey = 'none' },
          models = { one = { name = 'One' } },
        },
      },
    })
  )
  local passed, problem = xpcall(test, debug.traceback, child, model)
  if not passed then
    problem = ('%s\nthe conversation:\n%s\ntold:\n%s\nmodel:\n%s'):format(
      problem,
      child:chat(),
      child:told(),
      table.concat(model.complaints, '\n')
    )
  end
  child:stop()
  if not passed then
    vim.fn.jobstop(model.job)
  end
  assert(passed, problem)
  return M.stop_model(model)
end

--- A reply of the model: one tool call.
---@param name string
---@param arguments table
---@param when? string What must stand in what the model is told before.
function M.call(name, arguments, when)
  return { when = when, calls = { { name = name, arguments = arguments } } }
end

--- The signs of the agent's changes in a buffer, `row:sign` or `row-row:sign` from the top down, where they stand now.
---@param name? string
---@return string[]
function Child:signs(name)
  return self:lua(
    [[
    local buffer = vim.fn.bufnr(...)
    local namespace = vim.api.nvim_get_namespaces()['copydesk.hunks']
    local found = {}
    if not namespace or buffer == -1 or not vim.api.nvim_buf_is_loaded(buffer) then return found end
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })) do
      local last = mark[4].end_row or mark[2]
      local rows = last > mark[2] and ('%d-%d'):format(mark[2], last) or tostring(mark[2])
      found[#found + 1] = rows .. ':' .. vim.trim(mark[4].sign_text or '')
    end
    return found
  ]],
    name or '%'
  )
end

---@param expected string[]
---@param what string
---@param name? string
function Child:wait_signs(expected, what, name)
  local last
  local reached = vim.wait(M.LIMIT, function()
    last = self:signs(name)
    return vim.deep_equal(last, expected)
  end, 5)
  if not reached then
    M.equal(last, expected, what)
  end
end

return M
